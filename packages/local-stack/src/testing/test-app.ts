/** The origin of an app that end-to-end tests register, as `npm start -- --app` would. */
export const TEST_APP = "http://localhost:5173";

/** The redirect URI of the app on phones that they register: the one of examples/expo. */
export const TEST_PHONE_APP = "dev.countersign.example:/callback";
