import { connect, createServer } from "node:net";
import { pipeline } from "node:stream";

// Forwards connections to a port of the pod's loopback address to the same port of a host. Arguments: port
// and host.
const [port, host] = process.argv.slice(1);
const forward = (socket) => pipeline(socket, connect(Number(port), host), socket, () => undefined);
createServer(forward).listen(Number(port), "127.0.0.1");
