"""What people type, read and checked next to its field. Whether it may happen is the transitions' business."""
