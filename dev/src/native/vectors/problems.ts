/** Answers with the message of the client's error. */
const ANSWERS: [status: number, body: string, message: string][] = [
  [
    400,
    '{"error":"InvalidRequest","detail":"Fields are not valid","errors":[{"pointer":"/userKey/publicKey","detail":"Required"},{"pointer":"/chainName","detail":"Too long"}]}',
    "400 InvalidRequest: Fields are not valid: /userKey/publicKey Required; /chainName Too long",
  ],
  [
    403,
    '{"error":"SigningRefused","reason":"UnknownPayer","detail":"The payer is unknown","errors":[]}',
    "403 SigningRefused (UnknownPayer): The payer is unknown",
  ],
  // Of other programs.
  [
    422,
    '{"error":"Other","detail":"no","errors":["x",null,1,[],{"pointer":"/a"},{"pointer":1,"detail":"b"},{"pointer":"/c","detail":"d","more":{}}]}',
    "422 Other: no: /c d",
  ],
  [500, '{"error":"Other","detail":"no","errors":{"pointer":"/a","detail":"b"}}', "500 Other: no"],
];

export const problemVectors = () => ({
  problems: ANSWERS.map(([status, body, message]) => ({ status, body, message })),
});
