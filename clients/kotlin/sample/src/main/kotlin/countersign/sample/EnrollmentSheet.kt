package countersign.sample

import androidx.compose.foundation.layout.Arrangement
import androidx.compose.foundation.layout.Column
import androidx.compose.foundation.layout.Row
import androidx.compose.foundation.layout.fillMaxWidth
import androidx.compose.foundation.layout.padding
import androidx.compose.material3.Button
import androidx.compose.material3.MaterialTheme
import androidx.compose.material3.OutlinedTextField
import androidx.compose.material3.Text
import androidx.compose.material3.TextButton
import androidx.compose.runtime.Composable
import androidx.compose.runtime.getValue
import androidx.compose.runtime.mutableStateOf
import androidx.compose.runtime.remember
import androidx.compose.runtime.rememberCoroutineScope
import androidx.compose.runtime.setValue
import androidx.compose.ui.Modifier
import androidx.compose.ui.unit.dp
import countersign.client.CountersignClient
import countersign.client.EnrollmentException
import countersign.client.ShownEnrollment
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.launch

/**
 * Asks the person about a new device: says what approving does, and takes the code that the new device shows.
 * The code is typed, never shown here: people rarely compare codes by eye.
 */
@Composable
fun EnrollmentSheet(client: CountersignClient, enrollment: ShownEnrollment, done: () -> Unit) {
    var code by remember(enrollment.id) { mutableStateOf("") }
    var problem by remember(enrollment.id) { mutableStateOf("") }
    var isBusy by remember(enrollment.id) { mutableStateOf(false) }
    val scope = rememberCoroutineScope()
    val summary = remember(enrollment) {
        try {
            enrollment.description
        } catch (error: EnrollmentException) {
            "Do not approve this request: ${error.message}"
        }
    }

    fun decide(work: suspend () -> Unit) {
        isBusy = true
        scope.launch {
            try {
                work()
                done()
            } catch (error: EnrollmentException) {
                problem = "Nothing was approved: ${error.message}"
            } catch (error: CancellationException) {
                throw error
            } catch (error: Exception) {
                // The phone's dialog has exceptions of its own, as where the person closes it.
                problem = error.message.orEmpty()
            } finally {
                isBusy = false
            }
        }
    }

    Column(Modifier.padding(24.dp), verticalArrangement = Arrangement.spacedBy(16.dp)) {
        Text("A new device asks to join", style = MaterialTheme.typography.titleLarge)
        Text(summary)
        OutlinedTextField(code, { code = it }, label = { Text("Code on the other device") }, singleLine = true)
        if (problem.isNotEmpty()) Text(problem, color = MaterialTheme.colorScheme.error)
        Row(Modifier.fillMaxWidth(), horizontalArrangement = Arrangement.SpaceBetween) {
            TextButton({ decide { client.rejectEnrollment(enrollment.id) } }, enabled = !isBusy) { Text("Reject") }
            Button({ decide { client.approveEnrollment(enrollment.id, code) } }, enabled = !isBusy && code.isNotEmpty()) {
                Text("Approve")
            }
        }
    }
}
