// Package ofprovider is an OpenFeature provider that evaluates flags in this process: with a
// serving.Decider, or with a client that has the definitions of a server, such as
// adapters/remote's.
//
//	client, err := remote.New(…)
//	openfeature.SetProviderWithContextAndWait(ctx, ofprovider.NewRemote(ofprovider.Config{Client: client}))
//
// # Context
//
// The context is read as in the server's OFREP: targetingKey is the distinct id; groups are group
// keys by group type, group_properties properties by group type, $anon_distinct_id the id before
// the person was identified. $geoip_disable has no effect, because no address is located. Every
// other member is a person property, including $device_id, from which flags that are bucketed by
// device read the device's id. A time becomes its RFC 3339 string.
//
// # Values
//
// A boolean is whether the flag is on, with or without a variant. A string is the variant.
// Integers, floats and objects (including lists) are the payload, decoded from JSON. For a remote
// configuration flag every type is the payload. If a flag is off or disabled, or has no variant,
// the value is the default, without an error, except that a boolean is then false. TYPE_MISMATCH is
// for a flag that is on and has another type of value. Metadata has id, version, reason_code,
// condition_index and payload as in OFREP.
//
// # Reasons and errors
//
// Reasons are defined by flags.Decision.OpenFeature. UNKNOWN means that the value is certain but
// its reason depends on a missing fact. If a flag cannot be decided because a fact about the
// subject is missing, the value is the default with INVALID_CONTEXT if the context could provide
// the fact, and GENERAL otherwise; the message names the fact, and so do undecided_fact and
// undecided_name in the metadata.
//
// # Exposures
//
// With a client that can send exposures, as remote's can, each evaluation sends one, once for each
// distinct id, flag, value and groups: experiments use them to count who received which value.
// Config.NoExposures and remote's Config.NoExposures disable that. A provider with a Decider sends
// no exposures.
//
// # Events
//
// READY is sent when the client is ready. STALE is sent when the client's definitions cannot be
// renewed; READY and CONFIGURATION_CHANGED when renewing succeeds; and CONFIGURATION_CHANGED when
// they change (Config.Watch, or the client's Watch). A provider with a Decider detects a change at
// the first evaluation after it. ERROR is sent when there are no definitions, and READY when
// definitions are available.
package ofprovider
