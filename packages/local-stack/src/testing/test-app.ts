/** The origin of an app that end-to-end tests register, as `npm start -- --app` would. */
export const TEST_APP = "http://localhost:5173";
