// Package flags evaluates feature flags: which flags are on for a subject, with which variant
// and payload, and why. (It is not about command-line flags, which are package flag of the
// standard library.)
//
// It returns the same results as PostHog's flags service, so that existing SDKs work with
// either. The package does no input or output, except for [Open], which reads a file. Package
// flags/serving evaluates flags with definitions and properties from stores.
//
// # Terms
//
//   - A flag has conditions, which are tried in order; the first that matches decides.
//   - A condition is a list of requirements, all of which must hold, and a
//     rollout: the share of subjects, in per cent, that the condition is for.
//   - A subject is the entity that a request is about: a person, identified by a
//     distinct id, and the groups (a company, a project) that the request names.
//   - A property is a JSON value about a person or a group. An operator compares
//     it with the value of a requirement.
//   - A bucket is a number from 0 to 1 that a hash computes from a flag's key and
//     an identifier. It is the same on every machine.
//   - A variant is one of several values of a flag. A payload is a JSON value that
//     is returned with a value.
//   - A cohort is a set of persons: a tree of requirements, or a list.
//   - A holdout excludes a share of all subjects from flags, the same subjects for
//     every flag. With early access, persons opt in or out of a flag themselves.
//   - A [Decision] is the result of one flag, a [Reason] the cause of the result, and
//     a [Trace] a record of everything that the evaluation used.
//   - A fault is an error in a definition. It affects only the flag that has it.
//
// # Use
//
// To read flags as typed values, use a [Reader]. [Open] returns one for a file and follows
// the file's changes. For definitions in memory, use [ParseDefinitions], [Compile] and
// [Set.Evaluate] or [Set.Reader]. For stores and many projects, use package flags/serving. To
// find out why a flag has a value, use [Set.Explain]; [Set.Replay] repeats an evaluation from
// a trace only.
//
// # Order of decisions
//
// The following steps evaluate one flag. The first step that applies decides.
//
//  1. The definition cannot be read: the flag fails. A flag that it depends on
//     does not exist: off, missing_dependency.
//  2. A value is pinned for the person, or for one of the groups of the request: it is
//     the result.
//  3. Early access: the person property $feature_enrollment/<key> is present. It
//     turns the flag on or off.
//  4. The holdout includes the subject: on, with the variant holdout-<id>.
//  5. The conditions in their order. Each condition is checked as follows: a group
//     condition is skipped if the request lacks the group; then the requirements on
//     flags and properties in their order; then requirements on cohorts; then, for
//     a flag bucketed by device and a request without one, whether the bucket would
//     matter; then the rollout. The first condition that passes all checks decides
//     the variant: its own, or the one that the variant bucket selects.
//  6. No condition matched: off, with the reason of the highest score; of equal
//     scores, the later.
//
// Flags are evaluated after the flags that they depend on. A dependency on an inactive or
// filtered-out flag sees false. Flags on a cycle of dependencies, and all flags that depend
// on them, are not evaluated.
//
// # Precedence of properties
//
// The value of a person's property is that of the first layer that has it:
//
//	1  the request                     null included; a located property has precedence over a null
//	2  the request's distinct id       for the name distinct_id only
//	3  located from a header           the seven $geoip_ names only
//	4  stored
//	5  located from the connection     the seven $geoip_ names only
//	6  layers 1 to 5 of $x             for the name $initial_x; of utm_source and the like, without the $
//	7  missing                         or unknown, if the subject is partial or a store has failed
//
// The layers of a group's property are:
//
//	1  the group key of the request    for the name $group_key only
//	2  the request
//	3  stored
//	4  missing, or unknown
//
// Missing and null are different: each operator defines its result for a missing property
// ([OperatorInfo]), while null is a value with the text "null".
//
// # Sources of the rules
//
// Numbers are sections of the specification (spec/flags.md), which restates PostHog's public
// sources. "decision n" refers to the project's page of decisions, which has precedence over
// the specification.
//
//	bucket.go                          hashes                              §2, decision 1
//	identifier.go                      the hashed identifier               §2.3, §2.5
//	evaluate.go                        selection                           §3.1, §9.2, §9.9
//	decide.go, conditions.go           order of decisions                  §3.3 to §3.7
//	decision.go                        reasons                             §3.8, §3.9
//	operators.go, matchers.go          operators                           §4.4 to §4.6, §4.9, decision 6
//	orderings.go                       operators with an order             §4.5, §4.7, §4.8
//	flags/internal/values              text form, numbers, lower case      §4.2, §4.3, §4.5
//	flags/internal/dates               dates                               §4.7
//	flags/internal/semver              versions                            §4.8
//	flags/internal/rustregexp          regular expressions                 §4.5, decision 8
//	parsecohort.go, cohorts.go         cohorts                             §5
//	order.go                           dependencies                        §6, decision 3
//	subject.go, slots.go               groups, layers of properties        §7, §8.1 to §8.4, decision 7
//	flags/serving/ports.go             experience continuity               §8.6
//	parse*.go, node*.go, compile*.go   definitions and their faults        §1, decisions 3 and 4
//	needs.go                           facts that must be read             §8.1, §8.6, §10.1
//	file.go                            the definitions file                decisions, "Definitions file"
//	payload*.go, record.go             definitions for other evaluators    §1.8, decision 5
//	flags/sdklint                      flags that SDKs cannot evaluate     §11
//	reader.go, read*.go, open.go       typed reads                         decision 31
//	flags/serving/quota.go             counting                            §9.12, §10.1, decision 11
//	explain.go, trace*.go              explanations                        no rules: they only observe
//
// Expected values of the tests come from that specification, from PostHog's own tests and
// from worked examples; testdata/README.md lists which.
//
// # Partial subjects
//
// If [Subject].Partial is set, a property that was not supplied is unknown instead of
// missing. Evaluation is then three-valued: a flag whose result could change with an unknown
// fact is undecided, and [Decision].Undecided names the fact. A decided result is right
// whatever the unknown facts are (decision 2).
//
// # Performance
//
// Compile does the work that does not depend on a subject: it parses, lowers and compiles
// operands, sorts flags and adds up the shares of variants. An evaluation caches each
// property with its text or number and the result of each cohort, and never computes a hash
// if the result does not depend on a bucket.
//
// [Decisions] contain the memory that an evaluation uses. Reuse them: after they have grown, an
// evaluation allocates only for property values that are not in the form of decoded JSON (an
// int instead of an int64), dates in rare forms, backtracking patterns, and the names of
// undecided flags. The next evaluation overwrites their contents. Evaluations without a trace
// do not pay for tracing.
//
// # Concurrency
//
// A [Set] and [Definitions] are immutable; any number of goroutines may use one Set, each
// with its own Decisions. Subjects, and the maps in them, are only read. Values that a Set
// returns (payloads, [Needs], [Undecided]) are shared and must not be modified.
//
// # Bounds
//
//	distinct ids                 cut to 200 Unicode scalars if longer than 200 bytes (§2.4)
//	property values              nested 128 deep; deeper ones have no text
//	cohorts                      trees 64 deep (§5.2), 10,000 nested in one another
//	dependency chains            1,000 flags in the payload; for longer chains SDKs call the server
//	dates                        1,024 bytes, except RFC 3339, RFC 2822 and dates in the project's zone
//	relative dates               numbers below 10,000 (§4.7)
//	patterns                     16 KiB of source, 63 nested groups, about 10 MiB compiled
//	backtracking                 10 ms, a stack of 2 MiB and 1 MiB of text a search
//
// The caller must limit the size of request bodies and files.
//
// # Time
//
// The time of an evaluation is an argument. [Open] starts a goroutine that checks its file
// for changes, and a Reader of a Set or a file calls time.Now for flags that compare dates.
//
// There is one more exception to "no clock, no goroutine": patterns with look-around or
// back-references run on a backtracking engine, which has a time limit and so needs a clock.
// The engine (github.com/dlclark/regexp2/v2) starts one goroutine with the first such search,
// which ends a second after the last search. Tests that check for leaked goroutines can end
// it at once with regexp2.StopTimeoutClock. A search that exceeds the limit is no match, for
// regex and not_regex alike. It is counted in Stats of flags/serving, and a trace has a
// separate outcome for it.
//
// All other patterns take time in proportion to the size of the program and the text, which
// are limited: a pattern of more than 10,000 instructions is a fault, and a text of more than
// 1 MiB, or of more than 2^25 bytes divided by the number of instructions, is no match and
// counted likewise.
package flags
