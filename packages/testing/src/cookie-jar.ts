interface Cookie {
  host: string;
  path: string;
  name: string;
  value: string;
}

/** The part of RFC 6265 that a login needs: host-only cookies with paths, and their removal. */
export class CookieJar {
  #cookies: Cookie[] = [];

  /** Takes the Set-Cookie headers of an answer from `url`. */
  store(url: URL, headers: Headers): void {
    for (const header of headers.getSetCookie()) {
      const [pair = "", ...attributes] = header.split(";").map((part) => part.trim());
      const separator = pair.indexOf("=");
      if (separator < 1) continue;
      const attribute = (name: string) =>
        attributes.find((each) => each.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1);
      const path = attribute("path");
      const cookie: Cookie = {
        host: url.host,
        path: path?.startsWith("/") ? path : "/",
        name: pair.slice(0, separator),
        value: pair.slice(separator + 1),
      };
      this.#cookies = this.#cookies.filter(
        (each) => each.host !== cookie.host || each.path !== cookie.path || each.name !== cookie.name,
      );
      const expires = attribute("expires");
      const expired = attribute("max-age") === "0" || (expires !== undefined && Date.parse(expires) <= Date.now());
      if (!expired) this.#cookies.push(cookie);
    }
  }

  /** The Cookie header for a request to `url`; "" for none. */
  header(url: URL): string {
    return this.#cookies
      .filter(({ host, path }) => host === url.host && covers(path, url.pathname))
      .sort((a, b) => b.path.length - a.path.length)
      .map(({ name, value }) => `${name}=${value}`)
      .join("; ");
  }
}

/** Returns whether a cookie's path matches a request's (RFC 6265, section 5.1.4). */
function covers(cookiePath: string, path: string): boolean {
  if (!path.startsWith(cookiePath)) return false;
  return path.length === cookiePath.length || cookiePath.endsWith("/") || path[cookiePath.length] === "/";
}
