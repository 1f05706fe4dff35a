package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// rareWords are words that comments of the standard library and of popular Go modules hardly
// use, although each has its places. Comments with many of them read like a dialect.
var rareWords = set(`what says say said told tells tell asks asked ask none nobody somebody whom
	stands stand stood alone beside texts looked looks shown answered whose kept comes come came
	goes went gone gives given gave else others ones those holds held let lets lies lie lays lay
	laid wants want wanted knows known takes taken took makes made once again nothing`)

// maxRareWords is the maximum number of rareWords in 10,000 words of a package's comments. The
// standard library has 58, pgx 52 and chi 69.
const maxRareWords = 110

// minCommentWords is the size below which a package has no rate that means anything.
const minCommentWords = 200

// rareNames are parts of identifiers that carry no meaning for a reader.
var rareNames = set(`told asked kept said says stands standing whole noted ruled lay alone beside
	whom nobody thing taken given shown chosen refused known gone folded looked wanted meant crowd
	desk`)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

var (
	word     = regexp.MustCompile(`[a-z']+`)
	namePart = regexp.MustCompile(`[A-Z]?[a-z]+`)
)

// Words reports packages whose comments have too many rareWords, and declarations of names with
// rareNames as a part.
var Words = &analysis.Analyzer{
	Name: "words",
	Doc:  "reports words that Go programmers hardly use, in comments and names",
	Run: func(pass *analysis.Pass) (any, error) {
		all, rare := 0, 0
		for _, file := range pass.Files {
			if ast.IsGenerated(file) {
				continue
			}
			for _, group := range file.Comments {
				for _, c := range group.List {
					if !strings.HasPrefix(c.Text, "//go:") {
						n, r := countWords(c.Text)
						all, rare = all+n, rare+r
					}
				}
			}
			checkNames(pass, file)
		}
		if rate := 10_000 * rare / max(all, 1); all >= minCommentWords && rate > maxRareWords {
			pass.Reportf(pass.Files[0].Name.Pos(), "%d of 10,000 words of comments are in the list rareWords of .ci/lint/house/words.go, want at most %d: write plain English", rate, maxRareWords)
		}
		return nil, nil
	},
}

// countWords returns the number of words in a text and how many of them are rareWords.
func countWords(text string) (all, rare int) {
	for _, w := range word.FindAllString(strings.ToLower(text), -1) {
		all++
		if rareWords[w] {
			rare++
		}
	}
	return all, rare
}

// checkNames reports the names that a file declares with func, type, var, const and :=.
func checkNames(pass *analysis.Pass, file *ast.File) {
	check := func(names ...ast.Expr) {
		for _, n := range names {
			if id, ok := n.(*ast.Ident); ok && hasRareName(id.Name) {
				pass.Reportf(id.Pos(), "the name %s has a part that does not say what it is or does: see rareNames of .ci/lint/house/words.go", id.Name)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			check(n.Name)
		case *ast.TypeSpec:
			check(n.Name)
		case *ast.ValueSpec:
			for _, name := range n.Names {
				check(name)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				check(n.Lhs...)
			}
		}
		return true
	})
}

func hasRareName(name string) bool {
	return slices.ContainsFunc(namePart.FindAllString(name, -1), func(part string) bool { return rareNames[strings.ToLower(part)] })
}
