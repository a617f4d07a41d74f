-- Brings to the disk now what a checkpoint would write beside the measuring.
CHECKPOINT
