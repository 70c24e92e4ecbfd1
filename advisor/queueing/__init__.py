"""Work queues, limiters and the controller loop of controller-runtime as state machines without clock or thread."""
