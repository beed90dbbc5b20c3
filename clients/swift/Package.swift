// swift-tools-version:6.0
import PackageDescription

// Apple's systems have CryptoKit; elsewhere OpenSSL's libcrypto takes its place.
#if canImport(CryptoKit)
let crypto: [Target] = []
let cryptoDependency: [Target.Dependency] = []
#else
let crypto: [Target] = [.systemLibrary(name: "CLibcrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])])]
let cryptoDependency: [Target.Dependency] = ["CLibcrypto"]
#endif

// `npm run build:clients` writes Sources/CountersignAPI/generated.
let package = Package(
    name: "Countersign",
    platforms: [.iOS(.v15), .macOS(.v12)],
    products: [.library(name: "Countersign", targets: ["Countersign"])],
    targets: crypto + [
        .target(name: "CountersignAPI"),
        .target(name: "Countersign", dependencies: ["CountersignAPI"] + cryptoDependency),
        .target(name: "CountersignSample", dependencies: ["Countersign"]),
        .testTarget(name: "CountersignTests", dependencies: ["Countersign", "CountersignAPI"] + cryptoDependency),
    ],
    swiftLanguageModes: [.v6]
)
