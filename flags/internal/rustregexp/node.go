package rustregexp

// nodeOp is the type of a node.
type nodeOp uint8

const (
	opEmpty         nodeOp = iota
	opSet                  // one rune of set
	opConcat               // subs in order
	opAlternate            // the first of subs that matches
	opRepeat               // subs[0], lo to hi times
	opGroup                // subs[0], captured as group
	opAtomic               // subs[0], without backtracking into it
	opLook                 // subs[0], matched without consuming; behind, negated
	opBackref              // the text of group; fold
	opExists               // group has matched
	opCondition            // if subs[0] then subs[1] else subs[2]
	opKeep                 // \K: moves the start of the match, which is not used here
	opTextStart            // ^ \A
	opContinue             // \G: the position where the search began, here the start
	opTextEnd              // $ \z
	opLineStart            // (?m)^
	opLineEnd              // (?m)$
	opLineStartCRLF        // (?Rm)^: a line ends at \r\n, \r or \n
	opLineEndCRLF          // (?Rm)$
	opBoundary             // \b
	opNotBoundary          // \B
	opWordStart            // \< \b{start}
	opWordEnd              // \> \b{end}
	opHalfStart            // \b{start-half}
	opHalfEnd              // \b{end-half}
)

// nodeFacts are the requirements of a node. As in fancy_regex, fixed and hard decide which
// look-behinds are allowed: those that always match the same number of runes, or contain no hard
// node.
type nodeFacts struct {
	min   int  // minimum number of runes consumed
	fixed bool // consumes exactly min runes
	hard  bool // Rust's linear engine cannot match it
	size  int  // bytes, as estimated above; may exceed maxSize by one
}

// unlimited is the value of hi for a repetition without an upper bound.
const unlimited = -1

// node is a node of a parsed pattern. The meaning of the fields depends on op, see nodeOp.
type node struct {
	// subs are the parts of the node.
	op   nodeOp
	subs []*node
	set  runeSet
	// lo and hi are the bounds of opRepeat, group the number of a capture group.
	lo, hi int // hi may be unlimited
	group  int
	// lazy is set for repetitions like *?, behind and negated for opLook, fold for a back-reference
	// with (?i).
	lazy    bool
	behind  bool
	negated bool
	fold    bool
	pos     int       // of opLook in the pattern
	facts   nodeFacts // facts and counted are set by analyzer
	counted int
}

// emptyNode returns a node that matches the empty text.
func emptyNode() *node { return &node{op: opEmpty} }

// literalNode returns a node that matches one rune exactly.
func literalNode(r rune) *node { return setNode(runeSet{{r, r}}) }

// setNode returns a node that matches one rune of a set.
func setNode(set runeSet) *node { return &node{op: opSet, set: set} }
