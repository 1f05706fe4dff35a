package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
)

type whyOptions struct {
	distinctID, person *string
	properties, groups texts
}

func whyFlagOptions(m *manager) any {
	o := &whyOptions{distinctID: m.fs.String("distinct-id", "", ""), person: m.fs.String("person", "", "")}
	m.fs.Var(&o.properties, "property", "")
	m.fs.Var(&o.groups, "group", "")
	return o
}

// explanation is what is read of the server's answer.
type explanation struct {
	Person *struct {
		UUID string `json:"uuid"`
		Name string `json:"name"`
	} `json:"person"`
	Text string `json:"text"`
}

// whyFlag asks the server why somebody has a flag's value.
func whyFlag(m *manager, ctx context.Context, args []string, options any) error {
	o := options.(*whyOptions)
	if (*o.distinctID == "") == (*o.person == "") {
		return badUsage("flags", "why: for whom? give --distinct-id ID or --person UUID")
	}
	who := user{}
	for _, s := range o.properties {
		if err := who.setProperty(s); err != nil {
			return badUsage("flags", "--property: %v", err)
		}
	}
	for _, s := range o.groups {
		if err := who.setGroup(s); err != nil {
			return badUsage("flags", "--group: %v", err)
		}
	}
	body := map[string]any{"person_properties": who.subject.Person, "groups": who.subject.Groups}
	if *o.person != "" {
		body["person_id"] = *o.person
	} else {
		body["distinct_id"] = *o.distinctID
	}
	var raw json.RawMessage
	if err := m.send(ctx, "POST", m.flagsPath(pathPart(args[0])+"/explain/"), body, &raw); err != nil {
		return err
	}
	if *m.asJSON {
		return m.printJSON(raw)
	}
	var e explanation
	if err := json.Unmarshal(raw, &e); err != nil {
		return fmt.Errorf("the server's answer cannot be read: %w", err)
	}
	about := fmt.Sprintf("nobody has the distinct id %q: decided as for somebody of whom nothing is stored\n", *o.distinctID)
	if e.Person != nil {
		about = fmt.Sprintf("person %s, %s\n", e.Person.UUID, cell(cmp.Or(e.Person.Name, "without a name")))
	}
	return m.print(about + e.Text)
}
