// The preload helper needs a document, which the test has not.
export default { build: { target: "es2022", modulePreload: false } };
