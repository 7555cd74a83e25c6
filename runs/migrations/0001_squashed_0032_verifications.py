"""The tables as the first thirty-two migrations leave them, made in one step: a new installation is ready sooner.

A database that has run some of them runs the rest one by one.
"""

import django.contrib.auth.models
import django.contrib.auth.validators
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.constraints
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
import django.utils.timezone
import runs.lifecycle
import runs.models.fields
import runs.models.guards
from django.conf import settings
from django.db import migrations, models


APPEND_ONLY = """
CREATE FUNCTION runs_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""
TABLES = (
    "auditevent", "contract", "decision", "entry", "evidence", "fact", "pins", "plan", "refusal", "revision",
)

REQUIRE = """
CREATE FUNCTION runs_require(counted bigint, expected bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF counted IS DISTINCT FROM expected THEN
        RAISE EXCEPTION 'this commit found % rows where it needs %', counted, expected USING ERRCODE = 'CK001';
    END IF;
    RETURN true;
END $$;
"""


def append_only(table):
    """Let the database refuse updates and deletes."""
    return migrations.RunSQL(
        f"CREATE TRIGGER runs_{table}_append_only BEFORE UPDATE OR DELETE ON runs_{table}"
        " FOR EACH ROW EXECUTE FUNCTION runs_append_only();",
        f"DROP TRIGGER runs_{table}_append_only ON runs_{table};",
    )


class Migration(migrations.Migration):

    replaces = [('runs', '0001_initial'), ('runs', '0002_append_only'), ('runs', '0003_plural_names'), ('runs', '0004_branches'), ('runs', '0005_dry_runs'), ('runs', '0006_accounts'), ('runs', '0007_switches'), ('runs', '0008_plan_edits'), ('runs', '0009_pins'), ('runs', '0010_restored_and_tenures'), ('runs', '0011_answers'), ('runs', '0012_account_keys'), ('runs', '0013_children'), ('runs', '0014_lean_rows'), ('runs', '0015_waivers'), ('runs', '0016_corrected'), ('runs', '0017_guards'), ('runs', '0018_sealed'), ('runs', '0019_likeness'), ('runs', '0020_desk'), ('runs', '0021_words'), ('runs', '0022_contradicted'), ('runs', '0023_saved_views'), ('runs', '0024_rehearsals'), ('runs', '0025_same_elsewhere'), ('runs', '0026_ladders'), ('runs', '0027_refusals'), ('runs', '0028_api'), ('runs', '0029_chain_checks'), ('runs', '0030_effect_words'), ('runs', '0031_metrics'), ('runs', '0032_verifications')]

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('contenttypes', '0002_remove_content_type_name'),
    ]

    operations = [
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
                'db_table': 'runs_user',
                'abstract': False,
            },
            managers=[
                ('objects', django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name='Agent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.SlugField(max_length=80, unique=True)),
                ('title', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
        ),
        migrations.CreateModel(
            name='AgentVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('provider', models.CharField(max_length=80)),
                ('model', models.CharField(blank=True, max_length=200)),
                ('instructions', models.TextField(blank=True)),
                ('tools', runs.models.fields.ExactField()),
                ('definition', runs.models.fields.ExactField()),
                ('input_schema', runs.models.fields.ExactField()),
                ('budget', runs.models.fields.ExactField()),
                ('digest', runs.models.fields.DigestField(max_length=64)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='runs.agent')),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('approve_plan', models.BooleanField(default=False)),
                ('ordered', models.BooleanField(default=False)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('agent', 'number'), name='runs_agentversion_number'), models.UniqueConstraint(fields=('agent', 'digest'), name='runs_agentversion_digest')],
            },
        ),
        migrations.CreateModel(
            name='Pins',
            fields=[
                ('digest', runs.models.fields.DigestField(max_length=64, primary_key=True, serialize=False)),
                ('content', runs.models.fields.ExactField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
            options={
                'verbose_name_plural': 'pins',
            },
        ),
        migrations.CreateModel(
            name='Run',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('title', models.CharField(max_length=200)),
                ('input', runs.models.fields.ExactField()),
                ('input_digest', runs.models.fields.DigestField(max_length=64)),
                ('labels', runs.models.fields.ExactField()),
                ('mode', models.CharField(choices=[('live', 'Live'), ('dry_run', 'Dry Run')], default='live', max_length=10)),
                ('format', models.SmallIntegerField(default=1)),
                ('status', models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('waiting', 'waiting'), ('paused', 'paused'), ('succeeded', 'succeeded'), ('failed', 'failed'), ('cancelled', 'cancelled')], max_length=10)),
                ('reason', models.CharField(blank=True, max_length=40)),
                ('hold_reason', models.TextField(blank=True)),
                ('hold_right', models.CharField(blank=True, max_length=20)),
                ('remind_at', models.DateTimeField(null=True)),
                ('stop_reason', models.TextField(blank=True)),
                ('stop_at', models.DateTimeField(null=True)),
                ('path', runs.models.fields.ExactField()),
                ('start_token', models.CharField(max_length=64, unique=True)),
                ('position', models.IntegerField(default=0)),
                ('head', runs.models.fields.DigestField(default='0000000000000000000000000000000000000000000000000000000000000000', max_length=64)),
                ('reply_position', models.IntegerField(default=0)),
                ('checkpoint_number', models.IntegerField(default=0)),
                ('checkpoint_position', models.IntegerField(default=0)),
                ('plan_version', models.IntegerField(default=0)),
                ('inbox', models.IntegerField(default=0)),
                ('folded', models.IntegerField(default=0)),
                ('lease_until', models.DateTimeField(null=True)),
                ('fence', models.BigIntegerField(default=0)),
                ('attempts', models.IntegerField(default=0)),
                ('wake_at', models.DateTimeField(null=True)),
                ('hinted_at', models.DateTimeField(null=True)),
                ('priority', models.SmallIntegerField(default=100)),
                ('budget', runs.models.fields.ExactField()),
                ('steps', models.IntegerField(default=0)),
                ('calls', models.IntegerField(default=0)),
                ('tokens_in', models.BigIntegerField(default=0)),
                ('tokens_out', models.BigIntegerField(default=0)),
                ('cost_micro', models.BigIntegerField(default=0)),
                ('cost_known', models.BooleanField(default=True)),
                ('active_seconds', models.FloatField(default=0)),
                ('claimed_at', models.DateTimeField(null=True)),
                ('error', models.TextField(blank=True)),
                ('summary', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('ended_at', models.DateTimeField(null=True)),
                ('agent_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='runs.agentversion')),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='started_runs', to=settings.AUTH_USER_MODEL)),
                ('hold_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('root', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='lineage', to='runs.run')),
                ('stop_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('superseded_by', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes', to='runs.run')),
                ('begun', models.BooleanField(default=True)),
                ('advance', runs.models.fields.ExactField(null=True)),
                ('beat_at', models.DateTimeField(null=True)),
                ('approved_plan', models.IntegerField(default=0)),
                ('renewed_at', models.IntegerField(default=0)),
                ('offered', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.pins')),
                ('pins', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.pins')),
                ('parent', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='children', to='runs.run')),
                ('returned', models.BooleanField(default=False)),
                ('waivers', runs.models.fields.ExactField(default=dict)),
                ('sealed_at', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('status', runs.lifecycle.Run['QUEUED'])), fields=['priority', 'wake_at'], name='runs_run_due'), models.Index(fields=['status', '-id'], name='runs_run_by_status'), models.Index(condition=models.Q(('offered__isnull', False)), fields=['id'], name='runs_run_offered'), models.Index(condition=models.Q(('parent__isnull', False), ('returned', False)), fields=['parent'], name='runs_run_unreturned'), models.Index(condition=models.Q(('status', runs.lifecycle.Run['RUNNING'])), fields=['id'], name='runs_run_leased'), models.Index(condition=models.Q(('ended_at__isnull', False)), fields=['ended_at'], name='runs_run_ended')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('mode', 'live'), ('superseded_by__isnull', True), models.Q(('status__in', ['cancelled', 'succeeded']), _negated=True)), fields=('root',), name='runs_run_one_live_attempt')],
            },
        ),
        migrations.CreateModel(
            name='Account',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField(null=True)),
                ('measure', models.CharField(choices=[('steps', 'steps'), ('calls', 'calls'), ('tokens', 'tokens'), ('cost_micro', 'cost micro'), ('seconds', 'seconds')], max_length=10)),
                ('limit', models.BigIntegerField()),
                ('spent', models.BigIntegerField(default=0)),
                ('advanced', models.BigIntegerField(default=0)),
                ('over', models.BigIntegerField(default=0)),
                ('agent', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='accounts', to='runs.agent')),
                ('root', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='accounts', to='runs.run')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('measure__in', ['steps', 'calls', 'tokens', 'cost_micro', 'seconds'])), name='runs_account_measure'), models.CheckConstraint(condition=models.Q(models.Q(('agent__isnull', True), ('day__isnull', True), ('root__isnull', False)), models.Q(('day__isnull', False), ('root__isnull', True)), _connector='OR'), name='runs_account_scope'), models.CheckConstraint(condition=models.Q(('advanced__gte', 0), ('limit__gte', 0), ('over__gte', 0)), name='runs_account_counts'), models.CheckConstraint(condition=models.Q(('limit__gte', django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(models.F('spent'), '+', models.F('advanced')), '-', models.F('over')))), name='runs_account_not_overdrawn'), models.UniqueConstraint(fields=('root', 'measure'), name='runs_account_of_lineage'), models.UniqueConstraint(fields=('agent', 'day', 'measure'), name='runs_account_of_agent'), models.UniqueConstraint(condition=models.Q(('agent__isnull', True), ('root__isnull', True)), fields=('day', 'measure'), name='runs_account_of_installation')],
            },
        ),
        migrations.CreateModel(
            name='Occurrence',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tool', models.CharField(max_length=120)),
                ('identity', runs.models.fields.ExactField()),
                ('identity_digest', runs.models.fields.DigestField(max_length=64)),
                ('declaration', runs.models.fields.DigestField(max_length=64)),
                ('n', models.IntegerField()),
                ('key', runs.models.fields.DigestField(max_length=64)),
                ('state', models.CharField(choices=[('open', 'open'), ('standing', 'standing'), ('void', 'void'), ('unknown', 'unknown'), ('undone', 'undone')], max_length=10)),
                ('first_sent_at', models.DateTimeField(null=True)),
                ('horizon', models.DateTimeField()),
                ('receipt', runs.models.fields.ExactField(null=True)),
                ('verification', models.CharField(blank=True, max_length=20)),
                ('contradicted', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('settled_at', models.DateTimeField(null=True)),
                ('root', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='occurrences', to='runs.run')),
                ('earlier_keys', runs.models.fields.ExactField(null=True)),
                ('receipt_position', models.IntegerField(null=True)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('contradicted', True)), fields=['id'], name='runs_occurrence_contradicted'), django.contrib.postgres.indexes.HashIndex(fields=['identity_digest'], name='runs_occurrence_same')],
                'constraints': [models.UniqueConstraint(fields=('root', 'tool', 'identity_digest', 'n'), name='runs_occurrence_number'), runs.models.guards.Guard(name='runs_occurrence_rules', rules={'runs_occurrence_state': models.Q(('state__in', ['open', 'standing', 'void', 'unknown', 'undone']))})],
            },
        ),
        migrations.CreateModel(
            name='Policy',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.SlugField(max_length=80, unique=True)),
            ],
            options={
                'verbose_name_plural': 'policies',
            },
        ),
        migrations.CreateModel(
            name='PolicyVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('rules', runs.models.fields.ExactField()),
                ('digest', runs.models.fields.DigestField(max_length=64)),
                ('reason', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('policy', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='runs.policy')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('policy', 'number'), name='runs_policyversion_number')],
            },
        ),
        migrations.CreateModel(
            name='Action',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reply_position', models.IntegerField()),
                ('call_index', models.IntegerField()),
                ('step', models.CharField(blank=True, max_length=120)),
                ('tool', models.CharField(max_length=120)),
                ('contract', runs.models.fields.DigestField(max_length=64)),
                ('effect', models.CharField(max_length=12)),
                ('tier', models.SmallIntegerField()),
                ('protection', models.CharField(max_length=12)),
                ('status', models.CharField(choices=[('proposed', 'proposed'), ('held', 'held'), ('approved', 'approved'), ('intent', 'intent'), ('succeeded', 'succeeded'), ('absorbed', 'absorbed'), ('denied', 'denied'), ('rejected', 'rejected'), ('expired', 'expired'), ('superseded', 'superseded'), ('failed', 'failed'), ('in_doubt', 'in doubt'), ('simulated', 'simulated'), ('abandoned', 'abandoned')], max_length=12)),
                ('revision', models.IntegerField(default=1)),
                ('digest', runs.models.fields.DigestField(max_length=64)),
                ('identity', runs.models.fields.ExactField()),
                ('identity_digest', runs.models.fields.DigestField(max_length=64)),
                ('declaration', runs.models.fields.DigestField(max_length=64)),
                ('verdict', models.CharField(blank=True, max_length=10)),
                ('rule', models.CharField(blank=True, max_length=120)),
                ('terms', runs.models.fields.ExactField()),
                ('approval_digest', runs.models.fields.DigestField(blank=True, max_length=64)),
                ('preview', runs.models.fields.ExactField(null=True)),
                ('precondition', runs.models.fields.ExactField(null=True)),
                ('not_before', models.DateTimeField(null=True)),
                ('attempt', models.IntegerField(default=0)),
                ('evidence_number', models.IntegerField(default=0)),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('closed_at', models.DateTimeField(null=True)),
                ('duplicate_of', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.action')),
                ('retry_of', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.action')),
                ('blocked_by', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='blocks', to='runs.occurrence')),
                ('policy_version', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.policyversion')),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='actions', to='runs.run')),
                ('proposed_identity', runs.models.fields.DigestField(max_length=64, null=True)),
                ('undo_of', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='undos', to='runs.occurrence')),
                ('receipt_position', models.IntegerField(null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['run', 'identity_digest'], name='runs_action_identity'), models.Index(condition=models.Q(('undo_of__isnull', False)), fields=['undo_of'], name='runs_action_undo'), models.Index(condition=models.Q(('proposed_identity__isnull', False)), fields=['run', 'proposed_identity'], name='runs_action_corrected')],
                'constraints': [models.UniqueConstraint(fields=('run', 'reply_position', 'call_index'), name='runs_action_call')],
            },
        ),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60)),
                ('kind', models.CharField(choices=[('person', 'Me, in a script of my own'), ('agent', 'An agent'), ('service', 'Another service')], max_length=10)),
                ('prefix', models.CharField(max_length=12)),
                ('digest', runs.models.fields.DigestField(max_length=64, unique=True)),
                ('scopes', models.CharField(max_length=200)),
                ('form', models.CharField(max_length=64, unique=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('expires_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='tokens', to=settings.AUTH_USER_MODEL)),
                ('revoked_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('expires_at__gt', models.F('created_at'))), name='runs_apitoken_ends'), models.CheckConstraint(condition=models.Q(models.Q(('revoked_at__isnull', True), ('revoked_by__isnull', True)), models.Q(('revoked_at__isnull', False), ('revoked_by__isnull', False)), _connector='OR'), name='runs_apitoken_revoked_by_somebody'), models.CheckConstraint(condition=models.Q(('kind', 'person'), ('scopes__regex', '^(pause|start|stop|view)( (pause|start|stop|view))*$'), _connector='OR'), name='runs_apitoken_machine_never_decides')],
            },
        ),
        migrations.CreateModel(
            name='ApiCall',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=255)),
                ('request', runs.models.fields.DigestField(max_length=64)),
                ('attempt', models.PositiveIntegerField(default=1)),
                ('claimed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('done', models.BooleanField(default=False)),
                ('code', models.PositiveSmallIntegerField(null=True)),
                ('body', models.TextField(blank=True)),
                ('run', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.run')),
                ('token', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='calls', to='runs.apitoken')),
            ],
            options={
                'indexes': [models.Index(fields=['claimed_at'], name='runs_apicall_age')],
                'constraints': [models.UniqueConstraint(fields=('token', 'key'), name='runs_apicall_one_key'), models.CheckConstraint(condition=models.Q(('code__isnull', True), ('done', True), _connector='OR'), name='runs_apicall_answered_is_done')],
            },
        ),
        migrations.CreateModel(
            name='AuditEvent',
            fields=[
                ('seq', models.PositiveBigIntegerField(primary_key=True, serialize=False)),
                ('at', models.DateTimeField()),
                ('act', models.CharField(max_length=40)),
                ('subject', models.CharField(max_length=80)),
                ('content', runs.models.fields.ExactField()),
                ('channel', models.CharField(max_length=20)),
                ('ip', models.GenericIPAddressField(null=True)),
                ('previous', runs.models.fields.DigestField(max_length=64)),
                ('hash', runs.models.fields.DigestField(max_length=64)),
                ('actor', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('run', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='audit_events', to='runs.run')),
                ('on_behalf_of', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('policy_version', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.policyversion')),
                ('seen', runs.models.fields.DigestField(max_length=64, null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['run', 'seq'], name='runs_auditevent_run'), models.Index(fields=['actor', 'seq'], name='runs_auditevent_actor'), models.Index(fields=['act', 'seq'], name='runs_auditevent_act'), models.Index(fields=['subject', 'seq'], name='runs_auditevent_subject'), models.Index(fields=['channel', 'seq'], name='runs_auditevent_channel'), models.Index(fields=['at', 'seq'], name='runs_auditevent_at')],
                'constraints': [models.UniqueConstraint(fields=('previous',), name='runs_auditevent_chain')],
            },
        ),
        migrations.CreateModel(
            name='AuditHead',
            fields=[
                ('id', models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('seq', models.PositiveBigIntegerField(default=0)),
                ('hash', runs.models.fields.DigestField(default='0000000000000000000000000000000000000000000000000000000000000000', max_length=64)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='runs_audithead_single')],
            },
        ),
        migrations.CreateModel(
            name='Blob',
            fields=[
                ('sha256', runs.models.fields.DigestField(max_length=64, primary_key=True, serialize=False)),
                ('size', models.PositiveIntegerField()),
                ('content', models.BinaryField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('size__lte', 26214400)), name='runs_blob_size')],
            },
        ),
        migrations.CreateModel(
            name='ChainCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('asked_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('first', models.PositiveBigIntegerField(default=0)),
                ('seq', models.PositiveBigIntegerField(default=0)),
                ('hash', runs.models.fields.DigestField(default='0000000000000000000000000000000000000000000000000000000000000000', max_length=64)),
                ('broken', models.TextField(blank=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('asked_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('ended_at__isnull', True)), fields=['id'], name='runs_chaincheck_open')],
            },
        ),
        migrations.CreateModel(
            name='Entry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.IntegerField()),
                ('kind', models.CharField(choices=[('input', 'input'), ('correction', 'correction'), ('reply', 'reply'), ('call', 'call'), ('revision', 'revision'), ('verdict', 'verdict'), ('decision', 'decision'), ('intent', 'intent'), ('receipt', 'receipt'), ('result', 'result'), ('plan', 'plan'), ('mark', 'mark'), ('message', 'message'), ('recall', 'recall'), ('summary', 'summary'), ('refusal', 'refusal'), ('note', 'note'), ('end', 'end')], max_length=12)),
                ('content', runs.models.fields.ExactField()),
                ('head', runs.models.fields.DigestField(max_length=64)),
                ('number', models.IntegerField(null=True)),
                ('boundary', models.CharField(choices=[('created', 'created'), ('planned', 'planned'), ('result', 'result'), ('plan_step', 'plan step'), ('before_irreversible', 'before irreversible'), ('edited', 'edited'), ('waiting', 'waiting'), ('ended', 'ended')], max_length=20, null=True)),
                ('counters', runs.models.fields.ExactField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='runs.run')),
            ],
            options={
                'verbose_name_plural': 'entries',
                'constraints': [models.UniqueConstraint(fields=('run', 'position'), name='runs_entry_position'), models.UniqueConstraint(condition=models.Q(('number__isnull', False)), fields=('run', 'number'), name='runs_entry_checkpoint'), runs.models.guards.Guard(name='runs_entry_rules', rules={'runs_entry_checkpoint_whole': models.Q(models.Q(('boundary__isnull', True), ('counters__isnull', True), ('number__isnull', True)), models.Q(('boundary__isnull', False), ('counters__isnull', False), ('number__isnull', False)), _connector='OR'), 'runs_entry_kind': models.Q(('kind__in', ['input', 'correction', 'reply', 'call', 'revision', 'verdict', 'decision', 'intent', 'receipt', 'result', 'plan', 'mark', 'message', 'recall', 'summary', 'refusal', 'note', 'end']))})],
            },
        ),
        migrations.CreateModel(
            name='Checkpoint',
            fields=[
            ],
            options={
                'proxy': True,
            },
            bases=('runs.entry',),
        ),
        migrations.CreateModel(
            name='Contract',
            fields=[
                ('digest', runs.models.fields.DigestField(max_length=64, primary_key=True, serialize=False)),
                ('tool', models.CharField(max_length=120)),
                ('content', runs.models.fields.ExactField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
        ),
        migrations.CreateModel(
            name='Review',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('action', 'action'), ('plan', 'plan'), ('question', 'question'), ('in_doubt', 'in doubt'), ('budget', 'budget'), ('failure', 'failure')], max_length=10)),
                ('status', models.CharField(choices=[('open', 'open'), ('approved', 'approved'), ('rejected', 'rejected'), ('answered', 'answered'), ('expired', 'expired'), ('settled', 'settled'), ('superseded', 'superseded')], default=runs.lifecycle.Review['OPEN'], max_length=10)),
                ('revision', models.PositiveIntegerField(default=1)),
                ('digest', runs.models.fields.DigestField(max_length=64)),
                ('evidence_number', models.PositiveIntegerField(default=0)),
                ('title', models.CharField(max_length=300)),
                ('content', runs.models.fields.ExactField()),
                ('tier', models.PositiveSmallIntegerField(default=0)),
                ('votes', models.PositiveSmallIntegerField(default=0)),
                ('quorum', models.PositiveSmallIntegerField(default=1)),
                ('groups', runs.models.fields.ExactField()),
                ('separation', models.BooleanField(default=False)),
                ('reason_required', models.BooleanField(default=False)),
                ('undo_seconds', models.FloatField(default=0)),
                ('due_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField(null=True)),
                ('on_expiry', models.CharField(default='deny', max_length=10)),
                ('answer', models.CharField(blank=True, max_length=30)),
                ('opened_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('closed_at', models.DateTimeField(null=True)),
                ('action', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='reviews', to='runs.action')),
                ('consumed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.action')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reviews', to='runs.run')),
                ('shape', runs.models.fields.DigestField(max_length=64, null=True)),
                ('target', runs.models.fields.DigestField(max_length=64, null=True)),
                ('same', runs.models.fields.DigestField(max_length=64, null=True)),
                ('ladder', runs.models.fields.ExactField(default=list)),
                ('next_at', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('status', runs.lifecycle.Review['OPEN'])), fields=['due_at', 'id'], name='runs_review_open'), models.Index(condition=models.Q(('expires_at__isnull', False), ('status', runs.lifecycle.Review['OPEN'])), fields=['expires_at'], name='runs_review_expiring'), models.Index(condition=models.Q(('shape__isnull', False), ('status', runs.lifecycle.Review['APPROVED'])), fields=['shape', '-id'], name='runs_review_shape'), models.Index(condition=models.Q(('status', runs.lifecycle.Review['APPROVED']), ('target__isnull', False)), fields=['target', '-id'], name='runs_review_target'), models.Index(condition=models.Q(('same__isnull', False), ('status', runs.lifecycle.Review['APPROVED'])), fields=['same', '-id'], name='runs_review_same'), models.Index(condition=models.Q(('next_at__isnull', False), ('status', runs.lifecycle.Review['OPEN'])), fields=['next_at'], name='runs_review_next'), models.Index(fields=['opened_at'], name='runs_review_opened')],
                'constraints': [models.CheckConstraint(condition=models.Q(('status__in', ['open', 'approved', 'rejected', 'answered', 'expired', 'settled', 'superseded'])), name='runs_review_status'), models.CheckConstraint(condition=models.Q(('kind__in', ['action', 'plan', 'question', 'in_doubt', 'budget', 'failure'])), name='runs_review_kind'), models.CheckConstraint(condition=models.Q(('quorum__gte', 1), ('votes__lte', models.F('quorum'))), name='runs_review_votes_of_quorum'), models.CheckConstraint(condition=models.Q(models.Q(('closed_at__isnull', True), ('status', runs.lifecycle.Review['OPEN'])), models.Q(models.Q(('status', runs.lifecycle.Review['OPEN']), _negated=True), ('closed_at__isnull', False)), _connector='OR'), name='runs_review_closed_has_time'), models.CheckConstraint(condition=models.Q(models.Q(('expires_at__isnull', False), ('kind__in', ['action', 'plan', 'question'])), models.Q(models.Q(('kind__in', ['action', 'plan', 'question']), _negated=True), ('expires_at__isnull', True)), _connector='OR'), name='runs_review_expiry_by_kind'), models.CheckConstraint(condition=models.Q(('consumed_by__isnull', True), ('status', runs.lifecycle.Review['APPROVED']), _connector='OR'), name='runs_review_consumed_when_approved'), models.UniqueConstraint(condition=models.Q(('action__isnull', False), ('status', runs.lifecycle.Review['OPEN'])), fields=('action', 'kind'), name='runs_review_one_open')],
            },
        ),
        migrations.CreateModel(
            name='Decision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('revision', models.PositiveIntegerField()),
                ('verdict', models.CharField(max_length=30)),
                ('reason', models.TextField(blank=True)),
                ('content', runs.models.fields.ExactField()),
                ('digest', runs.models.fields.DigestField(max_length=64)),
                ('token', models.CharField(max_length=64, unique=True)),
                ('channel', models.CharField(default='page', max_length=20)),
                ('ip', models.GenericIPAddressField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to=settings.AUTH_USER_MODEL)),
                ('review', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='runs.review')),
                ('through', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.apitoken')),
            ],
            options={
                'indexes': [models.Index(fields=['created_at'], name='runs_decision_when')],
                'constraints': [models.UniqueConstraint(fields=('review', 'revision', 'person'), name='runs_decision_one_vote')],
            },
        ),
        migrations.CreateModel(
            name='Evidence',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.IntegerField()),
                ('attempt', models.IntegerField()),
                ('outcome', models.CharField(choices=[('happened', 'Happened'), ('did_not_happen', 'Did Not Happen')], max_length=16)),
                ('source', models.CharField(max_length=20)),
                ('content', runs.models.fields.ExactField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('action', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='evidence', to='runs.action')),
            ],
            options={
                'verbose_name_plural': 'evidence',
                'constraints': [models.UniqueConstraint(fields=('action', 'number'), name='runs_evidence_number')],
            },
        ),
        migrations.CreateModel(
            name='Fact',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.IntegerField()),
                ('kind', models.CharField(choices=[('decision', 'Decision'), ('expired', 'Expired'), ('evidence', 'Evidence'), ('hold', 'Hold'), ('resume', 'Resume'), ('stop', 'Stop'), ('retry', 'Retry'), ('withdrawn', 'Withdrawn'), ('wake', 'Wake'), ('usage', 'Usage'), ('plan_edit', 'Plan Edit'), ('edited', 'Edited'), ('undo', 'Undo')], max_length=10)),
                ('content', runs.models.fields.ExactField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='facts', to='runs.run')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('run', 'number'), name='runs_fact_number')],
            },
        ),
        migrations.CreateModel(
            name='Handover',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('note', models.TextField(blank=True)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('review', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='handover', to='runs.review')),
                ('to', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='handed', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Installation',
            fields=[
                ('id', models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('gate_epoch', models.BigIntegerField(default=1)),
                ('paused_all', models.BooleanField(default=False)),
                ('system', models.CharField(blank=True, max_length=120)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('policy_version', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.policyversion')),
                ('switches', runs.models.fields.ExactField(default=dict)),
                ('restored', models.BooleanField(default=False)),
                ('restored_at', models.DateTimeField(null=True)),
                ('restored_why', models.TextField(blank=True)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='runs_installation_single')],
            },
        ),
        migrations.CreateModel(
            name='Plan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.IntegerField()),
                ('steps', runs.models.fields.ExactField()),
                ('digest', runs.models.fields.DigestField(max_length=64)),
                ('reason', models.TextField(blank=True)),
                ('position', models.IntegerField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='plans', to='runs.run')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('run', 'version'), name='runs_plan_version')],
            },
        ),
        migrations.CreateModel(
            name='PlanStep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('order', models.IntegerField()),
                ('key', models.CharField(max_length=120)),
                ('title', models.CharField(max_length=300)),
                ('group', models.CharField(blank=True, max_length=120)),
                ('body', runs.models.fields.ExactField()),
                ('state', models.CharField(choices=[('pending', 'pending'), ('active', 'active'), ('done', 'done'), ('skipped', 'skipped'), ('refused', 'refused'), ('failed', 'failed')], default=runs.lifecycle.Step['PENDING'], max_length=10)),
                ('reply_position', models.IntegerField(null=True)),
                ('call_index', models.IntegerField(null=True)),
                ('result_position', models.IntegerField(null=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='plan_steps', to='runs.run')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state__in', ['done', 'refused', 'skipped']), _negated=True), fields=['run', 'order'], name='runs_planstep_open'), models.Index(fields=['run', 'group'], name='runs_planstep_group')],
                'constraints': [models.UniqueConstraint(fields=('run', 'key'), name='runs_planstep_key'), models.UniqueConstraint(deferrable=django.db.models.constraints.Deferrable['DEFERRED'], fields=('run', 'order'), name='runs_planstep_order'), runs.models.guards.Guard(name='runs_planstep_rules', rules={'runs_planstep_state': models.Q(('state__in', ['pending', 'active', 'done', 'skipped', 'refused', 'failed']))})],
            },
        ),
        migrations.CreateModel(
            name='Refusal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('act', models.CharField(max_length=40)),
                ('code', models.CharField(max_length=20)),
                ('reason', models.TextField()),
                ('subject', models.CharField(max_length=80)),
                ('channel', models.CharField(max_length=20)),
                ('ip', models.GenericIPAddressField(null=True)),
                ('actor', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('on_behalf_of', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.run')),
            ],
            options={
                'indexes': [models.Index(fields=['run', 'id'], name='runs_refusal_run'), models.Index(fields=['actor', 'id'], name='runs_refusal_actor'), models.Index(fields=['act', 'id'], name='runs_refusal_act'), models.Index(fields=['subject', 'id'], name='runs_refusal_subject'), models.Index(fields=['channel', 'id'], name='runs_refusal_channel'), models.Index(fields=['at', 'id'], name='runs_refusal_at'), models.Index(fields=['ip', 'at'], name='runs_refusal_ip')],
            },
        ),
        migrations.CreateModel(
            name='Rehearsal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('arguments', runs.models.fields.ExactField()),
                ('digest', runs.models.fields.DigestField(max_length=64)),
                ('shown', runs.models.fields.ExactField()),
                ('asked_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('done_at', models.DateTimeField(null=True)),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('review', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='rehearsals', to='runs.review')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('review', 'by'), name='runs_rehearsal_newest')],
            },
        ),
        migrations.CreateModel(
            name='Revision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.IntegerField()),
                ('arguments', runs.models.fields.ExactField()),
                ('digest', runs.models.fields.DigestField(max_length=64)),
                ('reason', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('action', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='revisions', to='runs.action')),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('action', 'number'), name='runs_revision_number')],
            },
        ),
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60)),
                ('query', models.CharField(max_length=1000)),
                ('shared', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='views', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('shared', True)), fields=['name'], name='runs_savedview_shared')],
                'constraints': [models.UniqueConstraint(fields=('owner', 'name'), name='runs_savedview_one_name')],
            },
        ),
        migrations.CreateModel(
            name='Snooze',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('until', models.DateTimeField()),
                ('told', models.BooleanField(default=False)),
                ('set_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='snoozes', to=settings.AUTH_USER_MODEL)),
                ('review', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='snoozes', to='runs.review')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('told', False)), fields=['until'], name='runs_snooze_untold')],
                'constraints': [models.UniqueConstraint(fields=('review', 'person'), name='runs_snooze_one_each')],
            },
        ),
        migrations.CreateModel(
            name='Tenure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('fence', models.PositiveBigIntegerField()),
                ('host', models.CharField(max_length=200)),
                ('pid', models.PositiveIntegerField()),
                ('started', models.CharField(max_length=80)),
                ('alone', models.BooleanField()),
                ('claimed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('lost_at', models.DateTimeField(null=True)),
                ('gone_at', models.DateTimeField(null=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='tenures', to='runs.run')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('gone_at__isnull', True), ('lost_at__isnull', False)), fields=['host'], name='runs_tenure_lost')],
                'constraints': [models.UniqueConstraint(fields=('run', 'fence'), name='runs_tenure_fence'), models.CheckConstraint(condition=models.Q(('gone_at__isnull', True), ('lost_at__isnull', False), _connector='OR'), name='runs_tenure_gone_was_lost')],
            },
        ),
        migrations.CreateModel(
            name='Verification',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('outcome', models.CharField(blank=True, choices=[('holds', 'Holds'), ('differs', 'Differs'), ('unreadable', 'Unreadable')], max_length=20)),
                ('said', models.TextField(blank=True)),
                ('asked_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('hinted_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('done_at', models.DateTimeField(null=True)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('occurrence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='verifications', to='runs.occurrence')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('done_at__isnull', True)), fields=['hinted_at'], name='runs_verification_open')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('done_at__isnull', True)), fields=('occurrence',), name='runs_verification_one_open'), models.CheckConstraint(condition=models.Q(models.Q(('done_at__isnull', True), ('outcome', '')), models.Q(('done_at__isnull', False), models.Q(('outcome', ''), _negated=True)), _connector='OR'), name='runs_verification_done_says')],
            },
        ),
        migrations.CreateModel(
            name='Words',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('words', django.contrib.postgres.search.SearchVectorField()),
                ('review', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='words', to='runs.review')),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='words', to='runs.run')),
                ('effect', models.OneToOneField(db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='words', to='runs.occurrence')),
                ('open', models.BooleanField(db_default=False, default=False)),
            ],
            options={
                'indexes': [django.contrib.postgres.indexes.GinIndex(fields=['words'], name='runs_words_found'), models.Index(condition=models.Q(('open', True)), fields=['effect'], name='runs_words_open')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('effect__isnull', True), ('review__isnull', True)), fields=('run',), name='runs_words_one_a_run')],
            },
        ),
        migrations.AddField(
            model_name='agent',
            name='current',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.agentversion'),
        ),
        migrations.AddField(
            model_name='run',
            name='budget_review',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.review'),
        ),
        migrations.AddField(
            model_name='run',
            name='handed_by',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='handed', to='runs.occurrence'),
        ),
        migrations.AddField(
            model_name='occurrence',
            name='owner',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='owned_occurrences', to='runs.action'),
        ),
        migrations.AddField(
            model_name='action',
            name='occurrence',
            field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='actions', to='runs.occurrence'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=runs.models.guards.Guard(name='runs_run_rules', rules={'runs_run_child_of_handoff': models.Q(models.Q(('handed_by__isnull', True), ('parent__isnull', True), ('returned', False)), models.Q(('handed_by__isnull', False), ('parent__isnull', False)), _connector='OR'), 'runs_run_ended_has_time': models.Q(models.Q(('ended_at__isnull', False), ('status__in', ['cancelled', 'failed', 'succeeded'])), models.Q(models.Q(('status__in', ['cancelled', 'failed', 'succeeded']), _negated=True), ('ended_at__isnull', True)), _connector='OR'), 'runs_run_folded_of_inbox': models.Q(('folded__lte', models.F('inbox'))), 'runs_run_paused_is_owned': models.Q(models.Q(('status', runs.lifecycle.Run['PAUSED']), _negated=True), models.Q(('hold_by__isnull', False), ('remind_at__isnull', False)), _connector='OR'), 'runs_run_queued_is_due': models.Q(models.Q(('status', runs.lifecycle.Run['QUEUED']), _negated=True), ('wake_at__isnull', False), _connector='OR'), 'runs_run_running_is_leased': models.Q(models.Q(('lease_until__isnull', False), ('status', runs.lifecycle.Run['RUNNING'])), models.Q(models.Q(('status', runs.lifecycle.Run['RUNNING']), _negated=True), ('lease_until__isnull', True)), _connector='OR'), 'runs_run_status': models.Q(('status__in', ['queued', 'running', 'waiting', 'paused', 'succeeded', 'failed', 'cancelled']))}),
        ),
        migrations.AddConstraint(
            model_name='action',
            constraint=runs.models.guards.Guard(name='runs_action_rules', rules={'runs_action_intent_has_occurrence': models.Q(models.Q(('status__in', ['in_doubt', 'intent']), _negated=True), ('occurrence__isnull', False), _connector='OR'), 'runs_action_status': models.Q(('status__in', ['proposed', 'held', 'approved', 'intent', 'succeeded', 'absorbed', 'denied', 'rejected', 'expired', 'superseded', 'failed', 'in_doubt', 'simulated', 'abandoned'])), 'runs_action_tier': models.Q(('tier__lte', 3))}),
        ),
        migrations.RunSQL(APPEND_ONLY, "DROP FUNCTION runs_append_only();"),
        *[append_only(table) for table in TABLES],
        migrations.RunSQL(REQUIRE, "DROP FUNCTION runs_require(bigint, bigint);"),
        # Each step updates the run row: with room on its page the new version needs no index entry.
        migrations.RunSQL("ALTER TABLE runs_run SET (fillfactor = 50)", "ALTER TABLE runs_run RESET (fillfactor)"),
    ]
