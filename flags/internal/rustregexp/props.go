package rustregexp

import (
	"fmt"
	"strings"
	"sync"
	"unicode"

	"github.com/dlclark/regexp2/v2"
)

// propertySet returns the runes of \p{name}. name is the text between the braces: a general
// category, a script, a binary property, or "property=value" (also ":" and "!="). Names are matched
// loosely (UAX #44, LM3), as in Rust. Scripts and properties are those of the Unicode version of
// this Go release. Age and the break properties are not supported. slow is true if the runes are
// from engineSet.
func propertySet(name string) (set runeSet, slow bool, err error) {
	// "!=" must be tried before "=", which it contains.
	for _, sep := range []string{"!=", ":", "="} {
		property, value, found := strings.Cut(name, sep)
		if !found {
			continue
		}
		set, slow, err := propertyValueSet(looseName(property), looseName(value))
		if err != nil {
			return nil, false, fmt.Errorf("unknown property %q", name)
		}
		if sep == "!=" {
			set = set.negate()
		}
		return set, slow, nil
	}
	// A name without a value is a binary property, a category or a script, in this order.
	loose := looseName(name)
	if p, ok := binaryProperties()[loose]; ok {
		set, err := p.set()
		return set, p.slow, err
	}
	if set, ok := categorySet(loose); ok {
		return set, false, nil
	}
	if set, slow, err := scriptSet("sc", loose); err == nil {
		return set, slow, nil
	}
	return nil, false, fmt.Errorf("unknown property %q", name)
}

// propertyValueSet returns the runes of property=value, for general categories, scripts and script
// extensions. Both names must be in loose form.
func propertyValueSet(property, value string) (set runeSet, slow bool, err error) {
	switch property {
	case "gc", "generalcategory":
		if set, ok := categorySet(value); ok {
			return set, false, nil
		}
	case "sc", "script":
		return scriptSet("sc", value)
	case "scx", "scriptextensions":
		return scriptSet("scx", value)
	}
	return nil, false, fmt.Errorf("unknown property %q", property)
}

// looseName removes case, blanks, "_", "-", non-ASCII characters, and a leading "is".
func looseName(name string) string {
	rest := name
	if len(name) >= 2 && strings.EqualFold(name[:2], "is") {
		rest = name[2:]
	}
	loose := strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '_' || r == '-' || r >= 0x80:
			return -1
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, rest)
	// Without this exception \p{isc} would be \p{C}.
	if loose == "c" && len(rest) < len(name) {
		return "isc" // ISO_Comment, not the category Other
	}
	return loose
}

// categorySet returns a general category by its short or long name, or one of three extra values.
func categorySet(loose string) (runeSet, bool) {
	switch loose {
	case "any":
		return anySet, true
	case "ascii":
		return runeSet{{0, 0x7F}}, true
	case "assigned":
		return tableSet(unicode.Categories["Cn"]).negate(), true
	}
	table, ok := categories()[loose]
	if !ok {
		return nil, false
	}
	return tableSet(table), true
}

// categories maps the loose short and long names of the general categories to their tables.
var categories = sync.OnceValue(func() map[string]*unicode.RangeTable {
	tables := make(map[string]*unicode.RangeTable)
	for name, table := range unicode.Categories {
		tables[looseName(name)] = table
	}
	for alias, name := range unicode.CategoryAliases {
		tables[looseName(alias)] = unicode.Categories[name]
	}
	return tables
})

// scriptSet returns a script ("sc") or its extension ("scx") by its long name or its four-letter
// code.
func scriptSet(property, loose string) (set runeSet, slow bool, err error) {
	canonical, long := scripts()[loose]
	if long && property == "sc" {
		return tableSet(unicode.Scripts[canonical]), false, nil
	}
	// Package unicode has no script extensions and no four-letter codes, but regexp2 has both.
	if !long {
		if len(loose) != 4 || strings.Trim(loose, "abcdefghijklmnopqrstuvwxyz") != "" {
			return nil, false, fmt.Errorf("unknown script %q", loose)
		}
		// Codes have an upper-case initial in regexp2, such as Latn.
		canonical = string(loose[0]-'a'+'A') + loose[1:]
	}
	set, err = engineSet(property + "=" + canonical)
	return set, true, err
}

// scripts maps the loose long names of the scripts to the names in unicode.Scripts.
var scripts = sync.OnceValue(func() map[string]string {
	names := make(map[string]string, len(unicode.Scripts))
	for name := range unicode.Scripts {
		names[looseName(name)] = name
	}
	return names
})

// binaryProperty is a property with a boolean value.
type binaryProperty struct {
	set  func() (runeSet, error)
	slow bool // the set is from engineSet
}

// binaryProperties maps loose names to properties.
var binaryProperties = sync.OnceValue(func() map[string]binaryProperty {
	sets := make(map[string]binaryProperty)
	// fixed wraps a set that is computed from the tables of package unicode.
	fixed := func(set func() runeSet) binaryProperty {
		return binaryProperty{func() (runeSet, error) { return set(), nil }, false}
	}
	for name, table := range unicode.Properties {
		sets[looseName(name)] = fixed(func() runeSet { return tableSet(table) })
	}
	for _, name := range strings.Fields(engineProperties) {
		sets[looseName(name)] = binaryProperty{func() (runeSet, error) { return engineSet(name) }, true}
	}
	// The unicode package has these properties only in parts.
	sets["alphabetic"] = fixed(alphabeticSet)
	sets["lowercase"] = fixed(func() runeSet { return tableSet(unicode.Ll, unicode.Other_Lowercase) })
	sets["uppercase"] = fixed(func() runeSet { return tableSet(unicode.Lu, unicode.Other_Uppercase) })
	for _, pair := range strings.Fields(propertyAliases) {
		alias, name, _ := strings.Cut(pair, "=")
		sets[alias] = sets[name]
	}
	return sets
})

// engineProperties are the binary properties that the unicode package lacks and regexp2 has.
const engineProperties = `Bidi_Mirrored Case_Ignorable Cased Changes_When_Casefolded Changes_When_Casemapped
	Changes_When_Lowercased Changes_When_NFKC_Casefolded Changes_When_Titlecased Changes_When_Uppercased
	Default_Ignorable_Code_Point Emoji Emoji_Component Emoji_Modifier Emoji_Modifier_Base Emoji_Presentation
	Extended_Pictographic Grapheme_Base Grapheme_Extend ID_Continue ID_Start Math XID_Continue XID_Start`

// propertyAliases are the short names of Unicode's PropertyAliases.txt, in loose form.
const propertyAliases = `ahex=asciihexdigit alpha=alphabetic bidic=bidicontrol bidim=bidimirrored ci=caseignorable
	cwcf=changeswhencasefolded cwcm=changeswhencasemapped cwkcf=changeswhennfkccasefolded cwl=changeswhenlowercased
	cwt=changeswhentitlecased cwu=changeswhenuppercased dep=deprecated di=defaultignorablecodepoint dia=diacritic
	ebase=emojimodifierbase ecomp=emojicomponent emod=emojimodifier epres=emojipresentation ext=extender
	extpict=extendedpictographic grbase=graphemebase grext=graphemeextend hex=hexdigit idc=idcontinue ideo=ideographic
	ids=idstart idsb=idsbinaryoperator idst=idstrinaryoperator joinc=joincontrol loe=logicalorderexception lower=lowercase
	nchar=noncharactercodepoint oalpha=otheralphabetic odi=otherdefaultignorablecodepoint ogrext=othergraphemeextend
	oidc=otheridcontinue oids=otheridstart olower=otherlowercase omath=othermath oupper=otheruppercase patsyn=patternsyntax
	patws=patternwhitespace pcm=prependedconcatenationmark qmark=quotationmark ri=regionalindicator sd=softdotted
	space=whitespace sterm=sentenceterminal term=terminalpunctuation uideo=unifiedideograph upper=uppercase
	vs=variationselector wspace=whitespace xidc=xidcontinue xids=xidstart`

// engineSets caches the results of engineSet, since each takes some 20 ms.
var engineSets sync.Map // property expression → runeSet

// engineSet returns the runes of a property, by its exact name, by matching every scalar value with
// regexp2, which contains more of the Unicode database than the unicode package.
func engineSet(property string) (runeSet, error) {
	if set, ok := engineSets.Load(property); ok {
		return set.(runeSet), nil
	}
	// In this mode regexp2 has the property names of ECMAScript.
	re, err := regexp2.Compile(`\p{`+property+`}+`, regexp2.ECMAScript|regexp2.Unicode)
	if err != nil {
		return nil, err
	}
	// All scalar values are one text, so that each match of the property is a whole range.
	all := make([]rune, 0, maxScalar+1)
	for _, r := range anySet {
		for c := r.lo; c <= r.hi; c++ {
			all = append(all, c)
		}
	}
	found, err := re.FindAllRunesIndex(all, -1)
	if err != nil {
		return nil, err
	}
	ranges := make([]runeRange, 0, len(found))
	for _, m := range found {
		ranges = append(ranges, runeRange{all[m[0]], all[m[1]-1]})
	}
	set := newRuneSet(ranges)
	engineSets.Store(property, set)
	return set, nil
}
