// Code that evaluates a flag, by language, for PostHog's SDKs and OpenFeature's client.

export interface SnippetInput {
  key: string;
  host: string;
  token: string;
}

const q = (text: string) => JSON.stringify(text);

export const snippets: Record<string, (a: SnippetInput) => string> = {
  JavaScript: (a) => `import posthog from "posthog-js"

posthog.init(${q(a.token)}, { api_host: ${q(a.host)} })
posthog.onFeatureFlags(() => {
  if (posthog.isFeatureEnabled(${q(a.key)})) {
    // …
  }
})`,
  React: (a) => `import { PostHogProvider, useFeatureFlagEnabled } from "posthog-js/react"

// <PostHogProvider apiKey=${q(a.token)} options={{ api_host: ${q(a.host)} }}>

function Feature() {
  const on = useFeatureFlagEnabled(${q(a.key)})
  return on ? <New /> : <Old />
}`,
  "Node.js": (a) => `import { PostHog } from "posthog-node"

const posthog = new PostHog(${q(a.token)}, { host: ${q(a.host)} })
const on = await posthog.isFeatureEnabled(${q(a.key)}, "ana")
await posthog.shutdown()`,
  Go: (a) => `client, err := posthog.NewWithConfig(${q(a.token)}, posthog.Config{Endpoint: ${q(a.host)}})
if err != nil {
	return err
}
defer client.Close()
on, err := client.IsFeatureEnabled(posthog.FeatureFlagPayload{Key: ${q(a.key)}, DistinctId: "ana"})`,
  Python: (a) => `from posthog import Posthog

posthog = Posthog(${q(a.token)}, host=${q(a.host)})
on = posthog.feature_enabled(${q(a.key)}, "ana")`,
  Ruby: (a) => `require "posthog"

posthog = PostHog::Client.new(api_key: ${q(a.token)}, host: ${q(a.host)})
on = posthog.is_feature_enabled(${q(a.key)}, "ana")`,
  PHP: (a) => `PostHog::init(${q(a.token)}, ["host" => ${q(a.host)}]);

$on = PostHog::isFeatureEnabled(${q(a.key)}, "ana");`,
  curl: (a) => `curl -s '${a.host}/flags?v=2' -H 'Content-Type: application/json' \\
  -d '${JSON.stringify({ api_key: a.token, distinct_id: "ana", flag_keys_to_evaluate: [a.key] })}'`,
  OpenFeature: (a) => `import { OpenFeature } from "@openfeature/server-sdk"
import { OFREPProvider } from "@openfeature/ofrep-provider"

await OpenFeature.setProviderAndWait(new OFREPProvider({
  baseUrl: ${q(a.host)},
  headers: [["Authorization", ${q("Bearer " + a.token)}]],
}))
const on = await OpenFeature.getClient().getBooleanValue(${q(a.key)}, false, { targetingKey: "ana" })`,
};
