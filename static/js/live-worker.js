// live-worker
