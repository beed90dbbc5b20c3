#if canImport(SwiftUI)
import Countersign
import SwiftUI

/// Asks the person about a new device: says what approving does, and takes the code that the new device
/// shows. The code is typed, never shown here: people rarely compare codes by eye.
public struct EnrollmentSheet: View {
    let client: CountersignClient
    let enrollment: ShownEnrollment
    let done: () -> Void

    @State private var summary = ""
    @State private var code = ""
    @State private var problem = ""
    @State private var isBusy = false

    public init(client: CountersignClient, enrollment: ShownEnrollment, done: @escaping () -> Void) {
        self.client = client
        self.enrollment = enrollment
        self.done = done
    }

    public var body: some View {
        VStack(alignment: .leading, spacing: 16) {
            Text("A new device asks to join").font(.title2).bold()
            Text(summary)
            TextField("Code on the other device", text: $code)
                .font(.system(.title3, design: .monospaced))
                .textFieldStyle(.roundedBorder)
                .disableAutocorrection(true)
            if !problem.isEmpty { Text(problem).foregroundColor(.red) }
            HStack {
                Button("Reject", role: .destructive) { decide { try await client.rejectEnrollment(enrollment.id) } }
                Spacer()
                Button("Approve") {
                    decide { [code] in try await client.approveEnrollment(enrollment.id, typedCode: code) }
                }
                .buttonStyle(.borderedProminent)
                .disabled(code.isEmpty)
            }
            .disabled(isBusy)
        }
        .padding()
        .task { describe() }
    }

    private func describe() {
        do {
            summary = try enrollment.description()
        } catch {
            problem = "Do not approve this request: \(error)"
        }
    }

    private func decide(_ work: @escaping @Sendable () async throws -> Void) {
        isBusy = true
        Task { @MainActor in
            defer { isBusy = false }
            do {
                try await work()
                done()
            } catch let error as EnrollmentError {
                problem = "Nothing was approved: \(error)"
            } catch {
                problem = "\(error)"
            }
        }
    }
}
#endif
