// Passkeys: what the browser is asked for, and what it answers.
import { send } from "./api/client";

/** Whether this browser has them. */
export const havePasskeys = (): boolean => typeof PublicKeyCredential !== "undefined" && "parseRequestOptionsFromJSON" in PublicKeyCredential;

const answerOf = (c: Credential | null): object => (c as PublicKeyCredential).toJSON() as object;

/** Asks for a passkey of this site. */
export async function askPasskey(): Promise<object> {
  const { publicKey } = await send<{ publicKey: PublicKeyCredentialRequestOptionsJSON }>("POST", "session/passkey/");
  return answerOf(await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey) }));
}

/** Makes one for who is signed in. */
export async function makePasskey(): Promise<object> {
  const { publicKey } = await send<{ publicKey: PublicKeyCredentialCreationOptionsJSON }>("POST", "passkeys/options/");
  return answerOf(await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey) }));
}
