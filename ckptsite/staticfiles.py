"""Static files under names that carry their content's digest, so that browsers may keep them for good."""

from servestatic.storage import CompressedManifestStaticFilesStorage


class Storage(CompressedManifestStaticFilesStorage):
    """Also rewrites the imports between JavaScript modules to the digest names."""

    support_js_module_import_aggregation = True
