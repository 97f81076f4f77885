"""The core: connects the rooms above; retained messages, shared groups, policy, $SYS."""
