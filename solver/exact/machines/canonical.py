"""x"""


def canonical_placement(search, limits, spent):
    return None
