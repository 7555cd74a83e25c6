"""Addresses and settings from the environment."""

import pytest
from django.conf import settings

from ckptsite import addresses, env


def test_a_database_address_is_taken_apart() -> None:
    found = addresses.database("postgresql://a%40b:p%2Fw@db.example:5433/runs?sslmode=require")
    assert (found.user, found.password, found.host, found.port, found.name) == (
        "a@b", "p/w", "db.example", "5433", "runs",
    )  # fmt: skip
    assert found.options == {"sslmode": "require"}
    assert found.libpq(dbname="postgres")["dbname"] == "postgres"


def test_a_socket_folder_is_a_host() -> None:
    found = addresses.database("postgresql://ckptsite@/ckptsite?host=/var/run/a%20b")
    assert found.host == "/var/run/a b"
    assert found.django()["HOST"] == "/var/run/a b"


@pytest.mark.parametrize(
    "url", ["mysql://h/x", "postgresql://h", "postgresql://h/", "postgresql://h:no/x", ""]
)
def test_a_database_address_that_is_none(url: str) -> None:
    with pytest.raises(env.EnvError, match="DATABASE_URL"):
        addresses.database(url)


@pytest.mark.parametrize(
    ("url", "broker", "client"),
    [
        ("redis://h:1/2", "redis://h:1/2", "redis://h:1/2"),
        ("unix:///run/v.sock?db=3", "redis+socket:///run/v.sock?virtual_host=3", "unix:///run/v.sock?db=3"),
        (
            "redis+socket://:pw@/run/v.sock?virtual_host=4",
            "redis+socket://:pw@/run/v.sock?virtual_host=4",
            "unix://:pw@/run/v.sock?db=4",
        ),
        ("unix:///v.sock", "redis+socket:///v.sock?virtual_host=0", "unix:///v.sock?db=0"),
    ],
)
def test_a_redis_address_in_both_spellings(url: str, broker: str, client: str) -> None:
    assert addresses.redis(url) == addresses.Redis(broker=broker, client=client)


@pytest.mark.parametrize("url", ["http://h", "unix://v.sock", "unix:///v.sock?db=x", "redis://h:no/1"])
def test_a_redis_address_that_is_none(url: str) -> None:
    with pytest.raises(env.EnvError, match="REDIS_URL"):
        addresses.redis(url)


@pytest.mark.parametrize("url", ["ftp://h", "https://", "https://h/path", "h", "https://h?x=1"])
def test_a_public_address_that_is_none(url: str) -> None:
    with pytest.raises(env.EnvError, match="PUBLIC_URL"):
        addresses.site(url)


def test_values_that_do_not_fit_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_VALUE", "what")
    for refused in (
        lambda: env.flag("X_VALUE", default=True),
        lambda: env.integer("X_VALUE", 1),
        lambda: env.seconds("X_VALUE", 1),
        lambda: env.choice("X_VALUE", "a", among=("a", "b")),
        lambda: env.limits("X_VALUE", among=("steps",)),
    ):
        with pytest.raises(env.EnvError, match=r"X_VALUE must (be|hold)"):
            refused()
    monkeypatch.setenv("X_VALUE", "nan")
    with pytest.raises(env.EnvError, match="X_VALUE"):
        env.seconds("X_VALUE", 1)


def test_limits_are_a_list_of_whole_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert env.limits("X_VALUE", among=("steps", "calls")) == {}
    monkeypatch.setenv("X_VALUE", "steps=500, calls=0")
    assert env.limits("X_VALUE", among=("steps", "calls")) == {"steps": 500, "calls": 0}
    for wrong in ("steps", "steps=", "steps=-1", "steps=1.5", "tokens=1", "steps=9" + "9" * 20, "steps=²"):
        monkeypatch.setenv("X_VALUE", wrong)
        with pytest.raises(env.EnvError, match="X_VALUE must hold limits such as steps=500"):
            env.limits("X_VALUE", among=("steps", "calls"))


def test_a_secret_may_lie_in_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pytest.TempPathFactory
) -> None:
    path = f"{tmp_path}/secret"
    with open(path, "w", encoding="utf-8") as file:
        file.write("hush\n")
    monkeypatch.setenv("X_SECRET_FILE", path)
    assert env.text("X_SECRET") == "hush"
    monkeypatch.setenv("X_SECRET", "also")
    with pytest.raises(env.EnvError, match="not both"):
        env.text("X_SECRET")


def test_tests_wait_shortly_and_on_their_own_servers() -> None:
    assert settings.CKPTSITE["LEASE"] < 5
    assert settings.REDIS_CLIENT.startswith("unix:///")
    assert "ckptsite-tests-" in str(settings.CKPTSITE_DATA)
