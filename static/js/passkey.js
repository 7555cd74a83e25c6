// A form marked data-passkey is sent with what the browser's passkey says; its options stand in it or at its address.
const able = () => Boolean(window.PublicKeyCredential?.parseRequestOptionsFromJSON);

async function options(form) {
  const told = form.dataset.options
    ? JSON.parse(form.dataset.options)
    : (await (await fetch(form.action, {headers: {Accept: "application/json"}})).json()).request_options;
  return told.publicKey;
}

async function credential(form) {
  const told = await options(form);
  if (form.dataset.passkey !== "create") {
    return navigator.credentials.get({publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(told)});
  }
  const alone = form.elements.passwordless?.checked;
  const more = {residentKey: alone ? "required" : "discouraged", requireResidentKey: alone};
  told.authenticatorSelection = {...told.authenticatorSelection, ...more, ...(alone ? {userVerification: "required"} : {})};
  return navigator.credentials.create({publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(told)});
}

async function send(form) {
  const words = form.querySelector("[data-passkey-words]");
  try {
    form.elements.credential.value = JSON.stringify((await credential(form)).toJSON());
  } catch {
    words.textContent = "That didn't work, or was cancelled. Try again, or use another way.";
    return;
  }
  form.submit();
}

export function refresh() {
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    if (able()) form.hidden = false;
    else form.querySelector("[data-passkey-words]").textContent = "This browser knows no passkeys.";
  }
}

export function start() {
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-passkey]")) return;
    event.preventDefault();
    send(event.target);
  });
}
