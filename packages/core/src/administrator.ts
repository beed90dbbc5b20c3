/** The person who asks for a command of an administrator, by the certificate, and why. */
export interface Administrator {
  readonly person: string;
  readonly reason: string;
}
