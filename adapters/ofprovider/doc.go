// Package ofprovider is an OpenFeature provider that decides in this process: over a
// flags.Decider, or over a client that keeps definitions of a server, such as
// adapters/remote's.
//
//	client, err := remote.New(…)
//	openfeature.SetProviderWithContextAndWait(ctx, ofprovider.NewRemote(ofprovider.Config{Client: client}))
//
// # Context
//
// As in the server's OFREP: targetingKey is the distinct id; groups are group keys by
// group type, group_properties properties by group type, $anon_distinct_id the id
// before the person was identified. $geoip_disable says nothing here, as no address
// is located. Every other member is a person property, $device_id included, from
// which flags that go by device take theirs. A time is its RFC 3339 text.
//
// # Values
//
// A boolean is whether the flag is on, with or without a variant. A string is the
// variant. Integers, floats and objects (lists too) are the payload, as the JSON
// that it stands for. Of a remote configuration flag every type is the payload. Where
// a flag is off or disabled, or has no variant, the value is the default, without an
// error, except that a boolean is then false; TYPE_MISMATCH is for a flag that is on
// and has another type of value. Metadata has id, version, reason_code,
// condition_index and payload as in OFREP.
//
// # Reasons and errors
//
// As flags.Decision.OpenFeature says; UNKNOWN where the value is certain and its reason
// hangs on something that is not known here. A flag that is not decided, as something about
// the subject is not known here, is the default with INVALID_CONTEXT where the
// context could have said it, else with GENERAL; the message names it, and so do
// undecided_fact and undecided_name in the metadata.
//
// # Exposures
//
// Over a client that can send exposures, as remote's can, each evaluation does, once
// for each distinct id, flag, value and groups: experiments count who was shown what.
// Config.NoExposures and remote's Config.NoExposures end that. A provider over a
// Decider sends none.
//
// # Events
//
// READY when the client is. STALE when the client's definitions cannot be renewed,
// READY and CONFIGURATION_CHANGED when they can again, CONFIGURATION_CHANGED when they
// change (Config.Watch, or the client's Watch); a provider over a Decider notices a change with the first
// evaluation after it. ERROR when no definitions could be had, READY when they can
// be again.
package ofprovider
