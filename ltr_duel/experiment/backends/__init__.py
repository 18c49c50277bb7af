"""Where runs are done: in threads, in processes that can be killed, or on a cluster."""
