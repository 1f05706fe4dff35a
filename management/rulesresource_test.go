package management_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// document is an object of the resource in these tests. Its rules depend on its name.
type document struct {
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Note    *string `json:"note"`
	Author  int64   `json:"author"`
	Deleted bool    `json:"deleted"`
	Secret  string  `json:"secret"`
}

// documentView is a document in responses.
type documentView struct {
	ID        string               `json:"id"`
	Name      string               `json:"name"`
	Note      *string              `json:"note"`
	CreatedBy *management.UserView `json:"created_by"`
	Form      string               `json:"form,omitempty"`
}

var documentFields = management.Fields{
	{Name: "name", Type: management.Text, Required: true, MaxLength: 20}, {Name: "note", Type: management.Text, Null: true, Blank: true}, {Name: "secret", Type: management.Text, Blank: true},
}

// refuse returns an error if a name contains a word.
func refuse(name, word string, err *management.Error) error {
	if strings.Contains(name, word) {
		return err
	}
	return nil
}

// documents returns the resource. In access rules its objects have the kind notebook.
func documents(w *ruletest.World, admins bool) resource.Resource[management.Tx, document, documentView] {
	show := func(form string) func(v *resource.View[management.Tx], x *document) (*documentView, error) {
		return func(v *resource.View[management.Tx], x *document) (*documentView, error) {
			author, err := v.Author(x.Author)
			return &documentView{x.ID, x.Name, x.Note, author, form}, err
		}
	}
	type edit = resource.Edit[management.Tx, document]
	return resource.NewResource(&w.Env, resource.Spec[management.Tx, document, documentView]{
		Kind: "document", ActivityScope: "Document", Fields: documentFields, ObjectName: "a document", AdminsOnly: admins,
		Body: func(b *management.Body) error {
			return refuse(string(b.Members["note"]), "unwanted", management.Fault("note", "The body is refused."))
		},
		Header: func(_ *management.Scope, x *document) resource.RecordHeader {
			return resource.RecordHeader{ID: x.ID, Title: x.Name, Sort: x.Name, Unique: strings.ToLower(x.Name), Hidden: x.Deleted}
		},
		New: func(v *resource.View[management.Tx]) (*document, error) {
			return &document{ID: w.Env.NewID(), Author: v.User.ID, Secret: "new"}, nil
		},
		AuthorizeChange: func(_ *resource.View[management.Tx], x *document) error {
			return refuse(x.Name, "locked", management.Clash("It is locked."))
		},
		Rules: func(e *edit) error {
			if e.IsNew != (e.Before.Name == "") || e.Body == nil {
				return management.Fault("", "The edit is incomplete.")
			}
			return refuse(e.After.Name, "ruled", management.Fault("name", "The rules refuse it."))
		},
		BeforeDelete: func(e *edit) error {
			e.After.Deleted = strings.Contains(e.After.Name, "soft")
			return refuse(e.After.Name, "kept", management.Clash("It is kept."))
		},
		AfterSave: func(e *edit) error { return refuse(e.After.Name, "saved", management.Clash("It was saved.")) },
		OnDuplicate: func(isNew bool) error {
			return management.CodedFault(map[bool]string{true: "new", false: "old"}[isNew], "name", "Taken.")
		},
		Show: show(""), Row: show("row"),
		Object: func(x *document) management.AccessObject {
			return management.AccessObject{Kind: "notebook", ID: x.ID, Author: x.Author}
		},
		Audit: func(x *document) any { return map[string]any{"name": x.Name, "secret": x.Secret} },
	})
}

// documentCalls returns the calls of documents. warned returns the warnings of the last body.
func documentCalls(t *testing.T, w *ruletest.World, admins bool) ruletest.Calls {
	ctx, r := t.Context(), documents(w, admins)
	w.Finders["notebook"] = r.Finder()
	warnings := []string{}
	body := func(text string) management.Body {
		b := ruletest.Body(t, text)
		warnings = []string{}
		b.Warn = func(text string) { warnings = append(warnings, text) }
		return b
	}
	calls := controlCalls(t, w)
	for name, call := range (ruletest.Calls{
		"create": func(scope callScope, _, b string) (any, error) { return r.Create(ctx, scope, body(b)) },
		"change": func(scope callScope, path, b string) (any, error) { return r.Update(ctx, scope, path, body(b), false) },
		"put":    func(scope callScope, path, b string) (any, error) { return r.Update(ctx, scope, path, body(b), true) },
		"get":    func(scope callScope, path, _ string) (any, error) { return r.Get(ctx, scope, path) },
		"drop":   func(scope callScope, path, _ string) (any, error) { return nil, r.Delete(ctx, scope, path) },
		"list": func(scope callScope, _, b string) (any, error) {
			p := management.Page{Limit: 100}
			ruletest.Read(t, b, &p)
			return ruletest.List(r.List(ctx, scope, p))
		},
		"warned": func(callScope, string, string) (any, error) { return warnings, nil },
		// modify changes the name of a document inside of another operation.
		"modify": func(scope callScope, path, name string) (any, error) {
			return nil, w.Store.Write(ctx, func(tx rooms.Tx) error {
				v := &resource.View[management.Tx]{Tx: tx, Scope: scope}
				x, err := r.LoadWritable(v, path)
				if err != nil {
					return err
				}
				return r.Modify(v, x, func() { x.Name = name })
			})
		},
	}) {
		calls[name] = call
	}
	return calls
}

// Resource implements the operations of all resources.
func TestResource_Rules(t *testing.T) {
	for name, c := range map[string]struct {
		admins bool
		rows   []ruletest.Row
	}{
		"bodies": {false, documentRows}, "order of checks": {false, documentOrderRows}, "log": {false, documentLogRows}, "deletion": {false, documentDeletionRows}, "access": {false, documentAccessRows},
		"lists": {false, documentListRows}, "administrators": {true, adminDocumentRows},
	} {
		t.Run(name, func(t *testing.T) {
			w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
			w.Run(t, documentCalls(t, w, c.admins), c.rows)
		})
	}
}

const documentNotFound = `404 not_found - Not found.`

var documentRows = []ruletest.Row{
	{"create", "bob", "create => it", `{"name":" a ","note":"n"}`, `{"id":"(like) ^[0-9a-f-]{36}$","name":"a","note":"n","created_by":{"first_name":"bob"},"form":"(absent)"}`},
	{"§2.2", "bob", "create", `{}`, `400 required name This field is required.`},
	{"decision 30", "bob", "create", `{"nme":"x"}`, `400 unknown_key nme nme is not a member of a document, "name" is most likely meant`},
	{"decision 30 comes before the fields", "bob", "create", `{"name":7,"nots":"x"}`, `400 unknown_key nots`},
	{"decision 30 named", "bob", "create", `{"name":"b","colour":"red"}`, `{"name":"b"}`},
	{"decision 30 named", "bob", "warned", ``, `["colour is not a member of a document and does nothing"]`},
	{"what responses have is known", "bob", "create", `{"name":"c","id":"x","created_by":null,"form":""}`, `{"name":"c"}`},
	{"what responses have is known", "bob", "warned", ``, `[]`},
	{"the check of the body", "bob", "create", `{"note":"unwanted"}`, `400 invalid_input note The body is refused.`},
	{"§2.2 no object", "bob", "create", `[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
	{"unique", "bob", "create", `{"name":"A"}`, `400 new name Taken.`},
	{"unique", "bob", "change <it>", `{"name":"B"}`, `400 old name Taken.`},
	{"§2.5 PATCH", "bob", "change <it>", `{"note":null}`, `{"name":"a","note":null}`},
	{"§2.5 PATCH of nothing", "bob", "change <it>", `{}`, `{"name":"a"}`},
	{"§2.5 PUT", "bob", "put <it>", `{"note":"x"}`, `400 required name This field is required.`},
	{"§2.5 PUT", "bob", "put <it>", `{"name":"p"}`, `{"name":"p","note":null}`},
	{"the rules", "bob", "change <it>", `{"name":"ruled"}`, `400 invalid_input name The rules refuse it.`},
	{"nothing was stored", "bob", "get <it>", ``, `{"name":"p"}`},
	{"after it was saved", "bob", "change <it>", `{"name":"saved"}`, `409 conflict - It was saved.`},
	{"nothing was stored", "bob", "get <it>", ``, `{"name":"p"}`},
	{"§1.1 in any form", "bob", "get {<it>}", ``, `{"id":"<it>"}`},
	{"§1.1 no UUID", "bob", "get 1", ``, documentNotFound},
}

// §1.5: object look-up, object permission, and then the body.
var documentOrderRows = []ruletest.Row{
	{"", "bob", "create => it", `{"name":"locked"}`, `{"name":"locked"}`},
	{"§1.5 404 before 400", "bob", "change 0191f0a2-5b1c-7d3e-8f40-99999999ffff", `{"name":""}`, documentNotFound},
	{"§1.5 404 of another project", "dan", "change <it>", `{"name":"x"}`, documentNotFound},
	{"§1.5 permission before 400", "bob", "change <it>", `{"name":""}`, `409 conflict - It is locked.`},
	{"§1.5 permission before 400", "bob", "put <it>", `[]`, `409 conflict - It is locked.`},
	{"§1.5 permission to delete", "bob", "drop <it>", ``, `409 conflict - It is locked.`},
	{"§1.5 reading", "bob", "get <it>", ``, `{"name":"locked"}`},
	{"within another operation", "bob", "modify <it>", `x`, `409 conflict - It is locked.`},
	{"", "gus", "control kinds", `{"access_level":"viewer","resource":"notebook"}`, `{"access_level":"viewer"}`},
	{"access before the resource's own permission", "cyd", "change <it>", `{"name":""}`, `403 permission_denied - You do not have editor access to this resource.`},
	{"creating: the rules come before access", "cyd", "create", `{"name":""}`, `400 blank name This field may not be blank.`},
	{"creating", "cyd", "create", `{"name":"x"}`, `403 permission_denied - You do not have editor access to this resource.`},
}

// §5.11: the log compares the form for it, and has the title after the change.
var documentLogRows = []ruletest.Row{
	{"", "bob", "create => it", `{"name":"a","note":"n"}`, `{"name":"a"}`},
	{"§5.11", "bob", "log Document <it>", ``, `{"activity":"created","user":{"first_name":"bob"},"detail":{"name":"a","changes":[{"field":"name","after":"a"},{"field":"secret","after":"new"}]}}`},
	{"§5.11", "cyd", "change <it>", `{"name":"b"}`, `{"name":"b"}`},
	{"§5.11", "bob", "log Document <it>", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"name":"b","changes":[{"field":"name","action":"changed","before":"a","after":"b"}]}}`},
	{"§5.11 a field that is not compared", "bob", "change <it>", `{"note":"m"}`, `{"note":"m"}`},
	{"§5.11 a field that is not compared", "bob", "log Document <it>", ``, `{"activity":"updated","user":{"first_name":"cyd"}}`},
	{"§5.11 within another operation", "ann", "modify <it>", `c`, `null`},
	{"§5.11 within another operation", "bob", "log Document <it>", ``, `{"activity":"updated","user":{"first_name":"ann"},"detail":{"name":"c","changes":[{"field":"name","before":"b","after":"c"}]}}`},
	{"§5.11", "bob", "drop <it>", ``, `null`},
	{"§5.11", "bob", "log Document <it>", ``, `{"activity":"deleted","detail":{"name":"c","changes":[{"field":"name","action":"deleted","before":"c","after":null},{"field":"secret","before":"new"}]}}`},
}

var documentDeletionRows = []ruletest.Row{
	{"", "bob", "create => hard", `{"name":"a"}`, `{"name":"a"}`},
	{"", "bob", "create => soft", `{"name":"soft"}`, `{"name":"soft"}`},
	{"", "bob", "create => kept", `{"name":"kept"}`, `{"name":"kept"}`},
	{"", "bob", "create", `{"name":"b"}`, `{"name":"b"}`},
	{"another project's", "dan", "drop <hard>", ``, documentNotFound},
	{"it is gone", "bob", "drop <hard>", ``, `null`},
	{"it is gone", "bob", "get <hard>", ``, documentNotFound},
	{"it is gone", "bob", "drop <hard>", ``, documentNotFound},
	{"its name is free", "bob", "create", `{"name":"a"}`, `{"name":"a"}`},
	{"it is hidden", "bob", "drop <soft>", ``, `null`},
	{"it is hidden", "bob", "get <soft>", ``, documentNotFound},
	{"it is hidden", "bob", "change <soft>", `{"note":"x"}`, documentNotFound},
	{"it is hidden", "bob", "list", ``, `{"count":3,"results":[{"name":"a"},{"name":"b"},{"name":"kept"}]}`},
	{"its name is not free", "bob", "create", `{"name":"soft"}`, `400 new name Taken.`},
	{"refused", "bob", "drop <kept>", ``, `409 conflict - It is kept.`},
	{"refused", "bob", "get <kept>", ``, `{"name":"kept"}`},
}

// clients.md §11.3: the effects of access levels.
var documentAccessRows = []ruletest.Row{
	{"", "cyd", "create => it", `{"name":"a"}`, `{"name":"a"}`},
	{"", "cyd", "create => other", `{"name":"b"}`, `{"name":"b"}`},
	{"none", "gus", "control notebook <it>", `{"access_level":"none","organization_member":"` + membershipOf(1) + `"}`, `{"access_level":"none","resource":"notebook","resource_id":"<it>"}`},
	{"none: missing from lists", "bob", "list", ``, `{"count":1,"results":[{"name":"b"}]}`},
	{"none: missing from pages", "bob", "list", `{"Limit":1}`, `{"count":1,"results":[{"name":"b"}]}`},
	{"none: 403", "bob", "get <it>", ``, `403 permission_denied - You do not have viewer access to this resource.`},
	{"none: 403", "bob", "change <it>", `{"note":"x"}`, `403 permission_denied - You do not have editor access to this resource.`},
	{"none: 403", "bob", "drop <it>", ``, `403 permission_denied - You do not have editor access to this resource.`},
	{"viewer", "gus", "control notebook <it>", `{"access_level":"viewer","organization_member":"` + membershipOf(1) + `"}`, `{"access_level":"viewer"}`},
	{"viewer: reads", "bob", "get <it>", ``, `{"name":"a"}`},
	{"viewer: reads", "bob", "list", ``, `{"count":2}`},
	{"viewer: 403 on writes", "bob", "change <it>", `{"note":"x"}`, `403 permission_denied - You do not have editor access to this resource.`},
	{"viewer: others as before", "bob", "change <other>", `{"note":"x"}`, `{"note":"x"}`},
	{"editor", "gus", "control notebook <it>", `{"access_level":"editor","organization_member":"` + membershipOf(1) + `"}`, `{"access_level":"editor"}`},
	{"editor: writes", "bob", "change <it>", `{"note":"x"}`, `{"note":"x"}`},
	{"a kind at none", "gus", "control kinds", `{"access_level":"none","resource":"notebook"}`, `{"access_level":"none"}`},
	{"a kind at none with rows for single objects: only these", "bob", "list", ``, `{"count":1,"results":[{"name":"a"}]}`},
	{"its creator sees both", "cyd", "list", ``, `{"count":2}`},
	{"an administrator sees both", "gus", "list", ``, `{"count":2}`},
	{"an object that was deleted", "cyd", "drop <it>", ``, `null`},
	{"an object that was deleted", "gus", "controls notebook <it>", ``, documentNotFound},
}

var documentListRows = []ruletest.Row{
	{"none", "bob", "list", ``, `{"count":0,"results":[]}`},
	{"", "bob", "create", `{"name":"b"}`, `{"name":"b"}`},
	{"", "cyd", "create", `{"name":"a"}`, `{"name":"a"}`},
	{"", "dan", "create", `{"name":"c"}`, `{"name":"c"}`},
	{"§3 the project's, in order, in the form of lists", "bob", "list", ``, `{"count":2,"results":[{"name":"a","form":"row","created_by":{"first_name":"cyd"}},{"name":"b","form":"row","created_by":{"first_name":"bob"}}]}`},
	{"§3 limit and offset", "bob", "list", `{"Limit":1,"Offset":1}`, `{"count":2,"results":[{"name":"b"}]}`},
	{"§3 beyond the end", "bob", "list", `{"Limit":1,"Offset":2}`, `{"count":2,"results":[]}`},
	{"§3 another project's", "dan", "list", ``, `{"count":1,"results":[{"name":"c"}]}`},
}

const insufficient = `403 permission_denied - Your organization access level is insufficient.`

// §1.5: the level in the organization is checked before the look-up.
var adminDocumentRows = []ruletest.Row{
	{"", "bob", "create", `{}`, insufficient},
	{"", "gus", "create => it", `{"name":"a"}`, `{"name":"a"}`},
	{"§1.5", "bob", "change 0191f0a2-5b1c-7d3e-8f40-99999999ffff", `{}`, insufficient},
	{"§1.5", "bob", "drop <it>", ``, insufficient},
	{"reading", "bob", "get <it>", ``, `{"name":"a"}`},
	{"reading", "bob", "list", ``, `{"count":1}`},
	{"", "ann", "drop <it>", ``, `null`},
}
