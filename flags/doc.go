// Package flags decides feature flags: which flags are on for a subject, with
// which variant and payload, and why. (It has nothing to do with command-line
// flags, which are package flag of the standard library.)
//
// It answers as PostHog's flags service does, so that existing SDKs cannot tell
// the two apart. It does no input or output, but for [Open], which reads a file: what it
// needs from the world it asks for through the interfaces of ports.go.
//
// # Words
//
//   - A flag has conditions, tried in order; the first that matches decides.
//   - A condition is a list of requirements, all of which must hold, and a
//     rollout: the share of subjects, in per cent, that it is for.
//   - A subject is whom a request is about: a person, known by a distinct id,
//     and the groups (a company, a project) that the request names.
//   - A property is a JSON value about a person or a group. An operator compares
//     it with the value in a requirement.
//   - A bucket is the place, from 0 to 1, of an identifier under a flag's key. It
//     comes from a hash, so it is the same on every machine.
//   - A variant is one of several values of a flag; a payload is a JSON value that
//     comes with an answer.
//   - A cohort is a set of persons: a tree of requirements, or a list.
//   - A holdout keeps a share of everybody out of a flag, the same people for
//     every flag. Early access lets a person's own choice decide.
//   - A [Decision] is the answer for one flag, a [Reason] why, a [Trace] everything
//     that was looked at.
//   - A fault is something wrong in a definition. The flag that has it fails
//     alone.
//
// # Use
//
// To read flags as values: [Reader]; of a file that is followed, [Open]. With flags in
// memory: [ParseDefinitions], [Compile], [Set.Evaluate], [Set.Reader]. With stores and many projects: [NewDecider],
// [Decider.Decide], [Decider.Reader]. To see why:
// [Set.Explain]; [Set.Replay] decides again from nothing but a trace.
//
// # Order of decisions
//
// Inside one flag, top to bottom; the first that applies ends the search.
//
//  1. The definition cannot be read: a failed answer. A flag that it depends on
//     does not exist: off, missing_dependency.
//  2. A value is pinned for the person, or for one of the groups that are named: it is
//     the answer.
//  3. Early access: the person property $feature_enrollment/<key> is there. It
//     decides, for on or off.
//  4. The holdout holds the subject: on, with the variant holdout-<id>.
//  5. The conditions in their order. For each: a group condition without group is
//     skipped; then requirements on flags and properties in their order; then
//     those on cohorts; then, for device bucketing without a device, whether the
//     bucket would matter; then the rollout. The first that passes all decides
//     the variant: its own, or the one of the variant bucket.
//  6. Nothing matched: off, with the reason that came closest; of equal ones the
//     later.
//
// Flags are decided after those they depend on. An inactive or filtered-out flag
// is false for them; flags on a cycle, and all behind them, are not answered.
//
// # Precedence of properties
//
// A person's property is taken from the first layer that has it:
//
//	1  the request                     null included; a located property goes over a null
//	2  the request's distinct id       for the name distinct_id only
//	3  located from a header           the seven $geoip_ names only
//	4  stored
//	5  located from the connection     the seven $geoip_ names only
//	6  layers 1 to 5 of $x             for the name $initial_x; of utm_source and its like, without the $
//	7  missing                         or unknown, when the subject is partial or a store has failed
//
// A group's property:
//
//	1  the group key of the request    for the name $group_key only
//	2  the request
//	3  stored
//	4  missing, or unknown
//
// Missing and null are two things: a missing property has an answer of its own
// for each operator ([OperatorInfo]), null is a value with the text "null".
//
// # Sources of the rules
//
// Numbers are sections of the specification (spec/flags.md), which restates
// PostHog's public sources; "decision n" is the project's page of decisions,
// which outranks it.
//
//	bucket.go, shorthash.go            hashes                              §2, decision 1
//	identifier.go                      who is hashed                       §2.3, §2.5
//	evaluate.go                        selection                           §3.1, §9.2, §9.9
//	decide.go, conditions.go           order of decisions                  §3.3 to §3.7
//	decision.go                        reasons                             §3.8, §3.9
//	operators.go, matchers.go          operators                           §4.4 to §4.6, §4.9, decision 6
//	orderings.go                       operators with an order             §4.5, §4.7, §4.8
//	text*.go                           text form, numbers, lower case      §4.2, §4.3, §4.5
//	flags/internal/dates               dates                               §4.7
//	flags/internal/semver              versions                            §4.8
//	flags/internal/rustregexp          regular expressions                 §4.5, decision 8
//	parsecohort.go, cohorts.go         cohorts                             §5
//	order.go                           dependencies                        §6, decision 3
//	subject.go, slots.go               groups, layers of properties        §7, §8.1 to §8.4, decision 7
//	ports.go                           experience continuity               §8.6
//	parse*.go, node*.go, compile*.go   definitions and their faults        §1, decisions 3 and 4
//	needs.go                           what has to be looked up            §8.1, §8.6, §10.1
//	file.go                            the definitions file                decisions, "Definitions file"
//	payload*.go, record.go             definitions for other evaluators    §1.8, decision 5
//	local*.go                          what SDKs cannot decide from them   §11
//	reader.go, read*.go, open.go       typed reads                         decision 31
//	quota.go                           counting                            §9.12, §10.1, decision 11
//	explain*.go, trace*.go             explanations                        none: they listen and change nothing
//
// Expected values of the tests come from that specification, from PostHog's own
// tests and from worked sums; testdata/README.md says which.
//
// # Partial subjects
//
// With [Subject].Partial a property that nobody supplied is unknown instead of
// missing. Evaluation is then three-valued: a flag whose answer could change with
// an unknown fact is not decided, and [Decision].Undecided names the fact. What
// is decided holds whatever the unknown facts are (decision 2).
//
// # Performance
//
// Compile does the work that does not depend on a subject: operands are parsed,
// lowered and compiled, flags sorted, variants added up. An evaluation looks each
// property up at most once, makes its text or number at most once, decides each
// cohort at most once and never hashes where the answer cannot depend on a bucket.
//
// [Decisions] and [Answer] carry the memory that an evaluation works in. Use them
// again: once they have grown nothing is allocated, but for property values that
// are not in the form of decoded JSON (an int instead of an int64), dates in rare
// forms, backtracking patterns, and the names of undecided flags. What they hold
// is overwritten by the next evaluation. A trace costs only those who ask for one.
//
// # Concurrency
//
// A [Set] and [Definitions] never change after they are made; any number of
// goroutines may use one Set, each with its own Decisions. A [Decider] and a
// [Memory] are safe for any number of goroutines. Subjects, and the maps in them,
// are only read. What a Set hands out (payloads, [Needs], [Undecided]) is shared
// and must not be changed.
//
// # Bounds
//
//	distinct ids                 cut to 200 Unicode scalars when longer than 200 bytes (§2.4)
//	property values              nested 128 deep; deeper ones have no text
//	cohorts                      trees 64 deep (§5.2), 10,000 one inside the other
//	dependency chains            1,000 flags in the payload; behind longer ones SDKs ask the server
//	dates                        1,024 bytes, but for RFC 3339, RFC 2822 and those read in the project's zone
//	relative dates               numbers below 10,000 (§4.7)
//	patterns                     16 KiB of source, 63 nested groups, about 10 MiB compiled
//	backtracking                 10 ms, a stack of 2 MiB and 1 MiB of text a search
//	projects kept by a Decider   16 times 1,024 keys, the least recently used go first
//	revision of a project        read again after one second
//
// Bodies and files are bounded by whoever reads them.
//
// # Time
//
// The time of an evaluation is an argument; a Decider takes its clock from
// [DeciderConfig].Now. [Open] has a goroutine that looks at its file, and a Reader of
// a Set or a file asks time.Now where a flag compares dates. Besides there is one
// exception to "no clock, no goroutine": patterns with look-around or back-references
// run on a backtracking engine, whose time limit needs a clock. The engine
// (github.com/dlclark/regexp2/v2) starts one goroutine with the first such search,
// which ends a second after the last. A search over the limit is no match for regex
// and not_regex alike; it is counted in [Stats].PatternTimeouts, and a trace shows it
// as an outcome of its own. Tests that look for leaked goroutines end that goroutine
// at once with
// regexp2.StopTimeoutClock. All other patterns take time in proportion to program and
// text, which are bounded: a pattern of more than 10,000 instructions is a fault, and
// a text of more than 1 MiB, or of 2^25 bytes divided by the instructions, is no
// match and counted likewise.
package flags
