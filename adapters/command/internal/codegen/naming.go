package codegen

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// naming assigns names in code to flags and variants. The first key, in byte order, gets the name
// that is derived from it; later ones get the suffixes _2, _3 and so on. Names derived from keys
// contain no underscores, so the suffixed names are free.
type naming struct {
	constants bool              // variants have names
	owner     map[string]string // owner of each name
	renamed   []string
}

// nameAll names the flags in the order of their keys and, if constants is set, their variants.
// Deleted flags get no name, so that code that uses them does not compile any more.
func nameAll(list []flags.Flag, schemas map[string]json.RawMessage, constants bool) ([]namedFlag, []string, error) {
	all := naming{constants: constants, owner: map[string]string{"FlagReader": "the generated code itself"}}
	sorted := make([]*flags.Flag, 0, len(list))
	for i := range list {
		if f := &list[i]; !f.Deleted && f.Key != "" {
			sorted = append(sorted, f)
		}
	}
	slices.SortStableFunc(sorted, func(a, b *flags.Flag) int { return strings.Compare(a.Key, b.Key) })
	var out []namedFlag
	for _, f := range sorted {
		payload, err := payloadShape(f, schemas[f.Key])
		if err != nil {
			return nil, nil, err
		}
		out = append(out, all.flag(f, payload))
	}
	for _, key := range slices.Sorted(maps.Keys(schemas)) {
		if !slices.ContainsFunc(out, func(n namedFlag) bool { return n.flag.Key == key }) {
			return nil, nil, fmt.Errorf("there is a schema for the flag %q, which does not exist", key)
		}
	}
	return out, all.renamed, nil
}

// flag names a flag with the first suffix for which all of its names are free.
func (a *naming) flag(f *flags.Flag, payload *shape) namedFlag {
	plain := exportedName(f.Key)
	duplicate := "" // the first conflicting name
	for suffix := 1; ; suffix++ {
		n := namedFlag{flag: f, name: withSuffix(plain, suffix), payload: payload}
		renamed := n.nameVariants(a.constants)
		names := n.names(a.constants)
		i := slices.IndexFunc(names, func(name string) bool { return a.owner[name] != "" })
		if i >= 0 {
			if duplicate == "" {
				duplicate = names[i]
			}
			continue
		}
		if duplicate != "" {
			a.renamed = append(a.renamed, fmt.Sprintf("the flag %s is named %s, because %s has the name %s", quote(f.Key), n.name, a.owner[duplicate], duplicate))
		}
		a.renamed = append(a.renamed, renamed...)
		for _, name := range names {
			a.owner[name] = "the flag " + quote(f.Key)
		}
		return n
	}
}

// nameVariants names a flag's variants in the order of their keys.
func (n *namedFlag) nameVariants(constants bool) (renamed []string) {
	for _, v := range n.flag.Variants {
		n.variants = append(n.variants, variant{key: v.Key})
	}
	if !constants {
		return nil
	}
	order := make([]*variant, len(n.variants))
	for i := range n.variants {
		order[i] = &n.variants[i]
	}
	slices.SortStableFunc(order, func(a, b *variant) int { return strings.Compare(a.key, b.key) })
	owner := map[string]string{}
	for _, name := range n.names(false) {
		owner[name] = "the flag itself"
	}
	for _, v := range order {
		plain := n.name + exportedName(v.key)
		suffix := 1
		for owner[withSuffix(plain, suffix)] != "" {
			suffix++
		}
		if v.name = withSuffix(plain, suffix); suffix > 1 {
			renamed = append(renamed, fmt.Sprintf("the variant %s of the flag %s is named %s, because %s has the name %s", quote(v.key), quote(n.flag.Key), v.name, owner[plain], plain))
		}
		owner[v.name] = "its variant " + quote(v.key)
	}
	return renamed
}

func withSuffix(name string, suffix int) string {
	if suffix == 1 {
		return name
	}
	return name + "_" + strconv.Itoa(suffix)
}

// names returns all names of a flag in code, with constants also those of its variants.
func (n *namedFlag) names(constants bool) []string {
	out := []string{"Read" + n.name}
	if len(n.flag.Variants) > 0 {
		out = append(out, n.name)
	}
	if n.payload != nil {
		out = append(out, n.name+"Payload", "Read"+n.name+"Payload")
	}
	if constants {
		for _, v := range n.variants {
			out = append(out, v.name)
		}
	}
	return out
}

// renamedComment lists the names with a suffix in a comment.
func renamedComment(renamed []string) string {
	if len(renamed) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("// Names that are already in use get a number:\n//\n")
	for _, text := range renamed {
		b.WriteString("//   " + oneLine(text) + "\n")
	}
	return b.String() + "\n"
}
