import { readJsonFile } from "@countersign/runtime";
import { GoogleAuth } from "google-auth-library";
import { z } from "zod";

const serviceAccount = z.object({
  type: z.literal("service_account"),
  project_id: z.string().min(1),
  client_email: z.string().min(1),
  private_key: z.string().min(1),
});

/**
 * Returns access tokens for Firebase messaging by a service account's file, kept until they end. Errors:
 * ConfigError.
 */
export function googleAccessToken(file: string): { projectId: string; accessToken(): Promise<string> } {
  const credentials = readJsonFile(file, serviceAccount);
  const auth = new GoogleAuth({ credentials, scopes: ["https://www.googleapis.com/auth/firebase.messaging"] });
  return {
    projectId: credentials.project_id,
    async accessToken() {
      const token = await auth.getAccessToken();
      if (!token) throw new Error("no access token");
      return token;
    },
  };
}
