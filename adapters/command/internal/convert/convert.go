// Package convert converts the flag definitions of other systems into ours. It does no I/O: its
// input is bytes, and its output is definitions.
//
// A flag is converted if every user gets the same value as before. Otherwise it is left out, and
// listed with the position and the reason. Parts that are lost without affecting a value, such as a
// tag or a description, are listed too.
//
// # Equal values
//
//   - true and false become on and off.
//   - Another value becomes a variant with the name that the source uses, and with the value as its
//     payload. For OpenFeature the value of such a flag is the payload, with its type (the flag is a
//     remote configuration flag); /flags returns the variant and the payload. Flipt's variants are
//     their own value, and their attachment is the payload.
//   - A value for all remaining users becomes a last condition with 100 %.
//   - A flag for which the source returns the caller's default (because it is disabled or archived)
//     becomes inactive: responses do not contain it, so that the caller's default is used.
//   - The source's key of a user is the distinct id, and its attributes are person properties of the
//     same names.
//
// # Limits
//
// Our operators compare the text of a property (spec/flags.md §4.2): they cannot distinguish the
// number 5 from the string "5". A rule that distinguishes them is converted with a note. The
// following are equal without a note: null and the string "null", a boolean and the strings "true"
// and "false". Strings such as "inf", "0x1p2" or " 5" may be parsed as a number on one side only.
// Of the letters outside ASCII, the Kelvin sign and the dotted capital I do not equal k and i here
// if case is ignored. Distinct ids have at most 200 bytes here, and are not empty.
//
// The names of boolean values are lost: true is on, and false is off.
//
// # Shares
//
// A share of the users between 0 and 100 % selects other users here, because every system has its
// own hash. Such flags are left out, or with [Options].Rebucket converted with equal shares and a
// note.
package convert

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

const (
	// MaxSize is the maximum size of a file, in bytes.
	MaxSize = 64 << 20
	// maxDepth is the maximum depth of documents, rules and generated cohorts.
	maxDepth = 64
)

// Options configure a conversion.
type Options struct {
	// Rebucket converts flags with shares, although the shares then select other users.
	Rebucket bool
	// Environment selects an environment of a file. If empty, the file must have only one; the
	// error lists several.
	Environment string
	// ProjectKey is the public key of the resulting project, phc_imported by default.
	ProjectKey string
	// Now is the time that dates in a file are compared with. If zero, it is the current time.
	Now time.Time
}

// Result is the result of a conversion.
type Result struct {
	// File contains one project with flags sorted by key, cohorts and group types.
	File flags.File
	// Converted are the keys of the flags in File, sorted.
	Converted []string
	// Omissions lists flags and parts of flags that were not converted, sorted by flag and
	// position.
	Omissions []Omission

	// rawCohorts are cohorts in their input form, for input in our own format.
	rawCohorts map[int64]any
	rebucket   bool // Options.Rebucket
}

// Omission describes a flag, or a part of a flag, that was not converted.
type Omission struct {
	Flag   string // key; empty if it does not concern a flag
	Place  string // position in the source, such as targeting[0].query
	Reason string
	// IsFlagOmitted reports whether the flag is missing from the result. Otherwise the result
	// contains it, and Reason describes what is different or missing.
	IsFlagOmitted bool
	// Type reports whether the note concerns a type that our operators cannot distinguish, for
	// example the number 5 and the string "5".
	Type bool
}

// Input is a file.
type Input struct {
	Name string
	Data []byte
}

// Format is a system whose definitions can be read.
type Format struct {
	Name, Summary string
	// Read converts files. It returns an error with the position for a file that is not a document
	// of the format. A fault in one flag leaves out that flag only.
	Read func(files []Input, o Options) (*Result, error)
}

// Formats are all formats, in the order of the help.
var Formats = []Format{
	{"posthog", "definitions payloads, lists of flags, cohorts and group types, and bunting's own documents", readPostHog},
	{"gofeatureflag", "configuration files of GO Feature Flag, YAML or JSON", perFile(readGoFeatureFlag)},
	{"flagd", "flag definitions of flagd, YAML or JSON", perFile(readFlagd)},
	{"unleash", "Unleash's export of an environment, or the answer of its client API", perFile(readUnleash)},
	{"flipt", "Flipt's features file or export, YAML or JSON", perFile(readFlipt, "export one namespace: flipt export --namespaces NAME")},
	{"launchdarkly", "flag data of LaunchDarkly's SDKs and relay", perFile(readLaunchDarkly)},
	{"growthbook", "payload of GrowthBook's SDKs", perFile(readGrowthBook)},
}

// Find returns the format with a name.
func Find(name string) (Format, bool) {
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return Format{}, false
	}
	return Formats[i], true
}

// perFile returns a Format.Read function that calls read for each file's document. The first
// definition of a key counts, and duplicates are listed. several is a hint for files with more than
// one document.
func perFile(read func(b *builder, doc *node) error, several ...string) func([]Input, Options) (*Result, error) {
	return func(files []Input, o Options) (*Result, error) {
		b := newBuilder(o)
		for _, f := range files {
			doc, err := decode(f.Data)
			if errors.Is(err, errSeveral) && len(several) > 0 {
				err = fmt.Errorf("%w: %s", err, several[0])
			}
			if err == nil {
				err = guard(func() error {
					kubernetes(doc)
					return read(b, doc)
				})
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
		}
		return b.result(), nil
	}
}

// kubernetes refuses a Kubernetes resource with a hint to the flags inside it.
func kubernetes(doc *node) {
	_, isResource := doc.get("apiVersion").value.(string)
	kind, ok := doc.get("kind").value.(string)
	if !isResource || !ok {
		return
	}
	for _, list := range []*node{doc.get("spec").get("flagSpec"), doc.get("spec").get("featureFlagSpec"), doc.get("data"), doc.get("binaryData"), doc.get("items")} {
		if empty(list.value) {
			continue
		}
		where := list.path()
		if members, ok := list.value.(map[string]any); ok && strings.HasSuffix(strings.ToLower(where), "data") {
			where = "each of " + strings.Join(slices.Sorted(maps.Keys(members)), ", ") + " below " + where
		}
		doc.refuse("is a Kubernetes resource, a %s: the flags are inside it, at %s; give that as a file", short(kind), short(where))
	}
	doc.refuse("is a Kubernetes resource, a %s, without flags inside", short(kind))
}

// guard converts a refusal outside of a flag into an error.
func guard(f func() error) (err error) {
	if r := catchRefusal(func() { err = f() }); r != nil {
		return r
	}
	return err
}

func byPlace(a, b Omission) int {
	return cmp.Or(cmp.Compare(a.Flag, b.Flag), cmp.Compare(a.Place, b.Place), cmp.Compare(a.Reason, b.Reason))
}
