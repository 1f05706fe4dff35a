// Package convert reads the flag definitions of other systems and says them in
// ours. It is pure: bytes in, definitions out.
//
// A flag is converted when every user gets the same answer as before, or it is
// left out and listed with the place and the reason. What is lost but
// changes no answer (a tag, a description) is listed too.
//
// # What equal means
//
//   - true and false are on and off.
//   - Another value is a variant, named as the source names it, with the value as
//     its payload. Over OpenFeature such a flag answers the value, with its type
//     (the flag is one of remote configuration); over /flags the variant and the
//     payload. Flipt's variants are their own value, and the attachment is the
//     payload.
//   - A value that everybody else gets is a last condition for 100 %.
//   - A flag that the source answers with the caller's own default (disabled,
//     archived) is inactive: it is not in the answer, and the caller's default
//     counts.
//   - The source's key of a user is the distinct id, its attributes are person
//     properties of the same names.
//
// # Limits of what is equal
//
// Our operators compare the text of a property (spec/flags.md §4.2): they cannot
// tell the number 5 from the text "5". A rule that sees the difference is
// converted with a note. Without a note these are one: null and the text "null",
// a boolean and the texts "true" and "false". Texts such as "inf", "0x1p2" or
// " 5" may read as a number on one side only. Of letters outside ASCII the sign
// of Kelvin and the dotted capital I are not k and i here where case does not
// count. Distinct ids have at most 200 bytes here, and are not empty.
//
// The names of boolean values are not carried: true is on, false is off.
//
// # Shares
//
// A share of the users between 0 and 100 % falls on other people here, because
// every system has a hash of its own: such flags are left out, or with
// [Options].Rebucket converted with equal shares and a note.
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
	// MaxSize bounds a file, in bytes.
	MaxSize = 64 << 20
	// maxDepth bounds how deep documents, rules and what is made of them nest.
	maxDepth = 64
)

// Options say what to read and how.
type Options struct {
	// Rebucket converts flags with shares although other people get them.
	Rebucket bool
	// Environment chooses one of several in a file; empty: the only one, or an
	// error that lists them.
	Environment string
	// ProjectKey is the public key of the project that is made, phc_imported when
	// empty.
	ProjectKey string
	// Now is the time by which dates in a file are past, the clock's when zero.
	Now time.Time
}

// Result is what came of the files.
type Result struct {
	// File holds one project with flags sorted by key, cohorts and group types.
	File flags.File
	// Converted are the keys of the flags in File, sorted.
	Converted []string
	// Omissions is what was left out, sorted by flag and place.
	Omissions []Omission

	// rawCohorts are cohorts as they were read, where their form is ours.
	rawCohorts map[int64]any
	rebucket   bool // as in Options
}

// Omission is something that was not converted.
type Omission struct {
	Flag   string // key; empty: of no flag
	Place  string // in the source's words, such as targeting[0].query
	Reason string
	// IsFlagOmitted: the flag is not in the result. Else it is, and the reason says what
	// is different or not carried.
	IsFlagOmitted bool
	// Type: the note is about a type that our operators do not see, such as that
	// the number 5 is the text "5" here.
	Type bool
}

// Input is a file.
type Input struct {
	Name string
	Data []byte
}

// Format is a system whose definitions are read.
type Format struct {
	Name, Summary string
	// Read fails on what is no such document, with the place. What is wrong with
	// one flag leaves out that flag.
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

// Find returns the format of that name.
func Find(name string) (Format, bool) {
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return Format{}, false
	}
	return Formats[i], true
}

// perFile makes a reader of several files out of one that adds what is in a single
// document to b. The first definition of a key counts, others are listed. several says what
// to do about a file with more than one document.
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

// kubernetes refuses a Kubernetes resource, and says where the flags are in it.
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

// guard turns a refusal outside a flag into an error.
func guard(f func() error) (err error) {
	if r := catchRefusal(func() { err = f() }); r != nil {
		return r
	}
	return err
}

func byPlace(a, b Omission) int {
	return cmp.Or(cmp.Compare(a.Flag, b.Flag), cmp.Compare(a.Place, b.Place), cmp.Compare(a.Reason, b.Reason))
}
