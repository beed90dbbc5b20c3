-- Version 0.1 called it. Sessions begin by begin_each_session.
DROP FUNCTION "begin_sessions"(json, int, interval, interval);
