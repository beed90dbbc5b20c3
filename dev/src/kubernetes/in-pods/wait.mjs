// Runs until its pod ends.
setInterval(() => undefined, 1_000);
