import { connect } from "node:net";

// Prints "open" if a server accepts a connection within three seconds. Arguments: port and host.
const [port, host] = process.argv.slice(1);
const socket = connect(Number(port), host);
socket.setTimeout(3_000, () => socket.destroy());
socket.on("error", () => undefined);
socket.on("connect", () => {
  console.log("open");
  socket.destroy();
});
