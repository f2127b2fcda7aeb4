"""What a spec fills in once the template is known."""

from ostler.domain.spec import resolved_rootfs_gb


def test_the_disk_is_as_asked_else_sixty_or_the_templates() -> None:
    assert resolved_rootfs_gb(20, 100) == 20
    assert resolved_rootfs_gb(None, 100) == 100
    assert resolved_rootfs_gb(None, 20) == 60
