package unit

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"fmt"
	"go/types"
	"os"
	"reflect"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/objectpath"
)

// facts are the results of analyzers about objects and packages, for the analysis of the packages
// that import them.
type facts struct {
	objects  map[objectKey]analysis.Fact
	packages map[packageKey]analysis.Fact
	records  map[recordKey]analysis.Fact // all facts that were read, whether they concern loaded objects or not
	paths    objectpath.Encoder
}

type objectKey struct {
	object types.Object
	kind   reflect.Type
}

type packageKey struct {
	pkg  *types.Package
	kind reflect.Type
}

// recordKey identifies a fact in a file. Object is empty for a fact about a package.
type recordKey struct {
	Package string
	Object  objectpath.Path
	kind    reflect.Type
}

// record is a fact in a file.
type record struct {
	Package string
	Object  objectpath.Path
	Fact    analysis.Fact
}

// readFacts reads the facts about the program's imports.
func readFacts(p *program) (*facts, error) {
	f := &facts{
		objects:  map[objectKey]analysis.Fact{},
		packages: map[packageKey]analysis.Fact{},
		records:  map[recordKey]analysis.Fact{},
	}
	for path, name := range p.PackageVetx {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if len(data) == 0 {
			continue
		}
		var records []record
		if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&records); err != nil {
			return nil, fmt.Errorf("facts of %q: %w", path, err)
		}
		for _, r := range records {
			f.add(r, p.loaded)
		}
	}
	return f, nil
}

// add adds a fact from a file. Its object may be missing from the types in the export data of the
// imports; then it cannot be queried here.
func (f *facts) add(r record, loaded map[string]*types.Package) {
	kind := reflect.TypeOf(r.Fact)
	key := recordKey{r.Package, r.Object, kind}
	if _, there := f.records[key]; there {
		return
	}
	f.records[key] = r.Fact
	pkg := loaded[r.Package]
	if pkg == nil {
		return
	}
	if r.Object == "" {
		f.packages[packageKey{pkg, kind}] = r.Fact
	} else if object, err := objectpath.Object(pkg, r.Object); err == nil {
		f.objects[objectKey{object, kind}] = r.Fact
	}
}

// write writes the facts about pkg and, if all is set, those about its imports too.
func (f *facts) write(name string, pkg *types.Package, all bool) error {
	records := map[recordKey]analysis.Fact{}
	if all {
		records = f.records
	}
	for key, fact := range f.objects {
		if key.object.Pkg() != pkg {
			continue
		}
		if path, err := f.paths.For(key.object); err == nil { // other objects are not visible outside of the package
			records[recordKey{pkg.Path(), path, key.kind}] = fact
		}
	}
	for key, fact := range f.packages {
		if key.pkg == pkg {
			records[recordKey{pkg.Path(), "", key.kind}] = fact
		}
	}
	return writeRecords(name, records)
}

// writeRecords writes facts in a fixed order, so that equal facts result in equal files.
func writeRecords(name string, facts map[recordKey]analysis.Fact) error {
	if len(facts) == 0 {
		return os.WriteFile(name, nil, 0o666)
	}
	records := make([]record, 0, len(facts))
	for key, fact := range facts {
		records = append(records, record{key.Package, key.Object, fact})
	}
	slices.SortFunc(records, func(a, b record) int {
		return cmp.Or(
			cmp.Compare(a.Package, b.Package),
			cmp.Compare(a.Object, b.Object),
			cmp.Compare(reflect.TypeOf(a.Fact).String(), reflect.TypeOf(b.Fact).String()),
		)
	})
	var out bytes.Buffer
	if err := gob.NewEncoder(&out).Encode(records); err != nil {
		return err
	}
	return os.WriteFile(name, out.Bytes(), 0o666)
}

// object copies the fact of fact's type about an object to *fact, and reports whether it exists.
func (f *facts) object(object types.Object, fact analysis.Fact) bool {
	return assign(fact, f.objects[objectKey{object, reflect.TypeOf(fact)}])
}

// packageFact is object for a package.
func (f *facts) packageFact(pkg *types.Package, fact analysis.Fact) bool {
	return assign(fact, f.packages[packageKey{pkg, reflect.TypeOf(fact)}])
}

func assign(to, from analysis.Fact) bool {
	if from == nil {
		return false
	}
	reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem())
	return true
}

// allObjects returns the facts about objects that have one of a's types.
func (f *facts) allObjects(a *analysis.Analyzer) (all []analysis.ObjectFact) {
	for key, fact := range f.objects {
		if isOf(a, key.kind) {
			all = append(all, analysis.ObjectFact{Object: key.object, Fact: fact})
		}
	}
	return all
}

// allPackages returns the facts about packages that have one of a's types.
func (f *facts) allPackages(a *analysis.Analyzer) (all []analysis.PackageFact) {
	for key, fact := range f.packages {
		if isOf(a, key.kind) {
			all = append(all, analysis.PackageFact{Package: key.pkg, Fact: fact})
		}
	}
	return all
}

func isOf(a *analysis.Analyzer, kind reflect.Type) bool {
	return slices.ContainsFunc(a.FactTypes, func(f analysis.Fact) bool { return reflect.TypeOf(f) == kind })
}
