// Passkeys: requests to the browser and its responses.
import { send } from "./api/client";

/** Reports whether this browser supports passkeys. */
export const havePasskeys = (): boolean => typeof PublicKeyCredential !== "undefined" && "parseRequestOptionsFromJSON" in PublicKeyCredential;

const answerOf = (c: Credential | null): object => (c as PublicKeyCredential).toJSON() as object;

/** Asks the browser for a passkey of this site. */
export async function askPasskey(): Promise<object> {
  const { publicKey } = await send<{ publicKey: PublicKeyCredentialRequestOptionsJSON }>("POST", "session/passkey/");
  return answerOf(await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey) }));
}

/** Creates a passkey for the person who is signed in. */
export async function makePasskey(): Promise<object> {
  const { publicKey } = await send<{ publicKey: PublicKeyCredentialCreationOptionsJSON }>("POST", "passkeys/options/");
  return answerOf(await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey) }));
}
