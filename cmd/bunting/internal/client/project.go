package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
)

const projectOption = `  --project ID      project: its number, name or public key, BUNTING_PROJECT in the
                    environment by default, else the only one that the key opens
`

// projectRef is a project that a command works in.
type projectRef struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"` // empty: the key may not read it
	Token string `json:"api_token"`
}

func (p *projectRef) String() string {
	if p.Name == "" {
		return strconv.FormatInt(p.ID, 10)
	}
	return fmt.Sprintf("%d (%s)", p.ID, cli.Cell(p.Name))
}

// findProject is the project that a command works in: the one that is named, by
// number, name or public key, else the only one that the key opens. It is never
// one that the server has chosen, unless @current asks for that.
func (c *apiClient) findProject(ctx context.Context, named string) (*projectRef, error) {
	id, err := strconv.ParseInt(named, 10, 64)
	if named == "@current" || err == nil {
		var p projectRef
		err := c.send(ctx, "GET", projectPath(named), nil, &p)
		switch {
		case err == nil:
			return &p, nil
		case statusOf(err) == http.StatusForbidden && id > 0:
			return &projectRef{ID: id}, nil // what the key may do there shows in the answer to the request itself
		case statusOf(err) != http.StatusNotFound:
			return nil, err
		}
	}
	list, err := c.listProjects(ctx)
	if err != nil {
		return nil, err
	}
	found := list
	if named != "" {
		found = nil
		for _, p := range list {
			if p.Token == named || p.Name == named {
				found = append(found, p)
			}
		}
	}
	switch {
	case len(found) == 1:
		return &found[0], nil
	case len(list) == 0:
		return nil, errors.New("the key opens no project")
	case named == "":
		return nil, projectChoiceError("which project?", list)
	case len(found) > 1:
		return nil, projectChoiceError(fmt.Sprintf("several projects have the name %q", named), found)
	}
	return nil, projectChoiceError(fmt.Sprintf("there is no project %q", named), list)
}

// maxChoice is how many projects an error lists.
const maxChoice = 30

// projectChoiceError asks for one of some projects.
func projectChoiceError(problem string, list []projectRef) error {
	var b strings.Builder
	b.WriteString("choose one with --project or " + cli.ProjectVariable + ":")
	for i := range list {
		if i == maxChoice {
			fmt.Fprintf(&b, "\n  and %d more", len(list)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %d  %s", list[i].ID, cli.Cell(list[i].Name))
	}
	return cli.Usage(problem, b.String())
}

// listProjects are the projects that the key opens. A key of single projects may
// not ask for the list, but knows which these are.
func (c *apiClient) listProjects(ctx context.Context) ([]projectRef, error) {
	list, listErr := pages[projectRef](ctx, c, "/api/projects/")
	if statusOf(listErr) != http.StatusForbidden {
		return list, listErr
	}
	var key struct {
		Projects []int64 `json:"scoped_teams"`
	}
	if err := c.send(ctx, "GET", keysPath+"@current/", nil, &key); err != nil {
		return nil, err
	}
	if len(key.Projects) == 0 {
		return nil, cli.Usage("which project? the key may not list them", fmt.Sprintf("name it with --project or %s (%v)", cli.ProjectVariable, listErr))
	}
	for i, id := range key.Projects {
		p := &projectRef{ID: id}
		if i < maxChoice {
			var err error
			if p, err = c.findProject(ctx, strconv.FormatInt(id, 10)); err != nil {
				return nil, err
			}
		}
		list = append(list, *p)
	}
	return list, nil
}

// statusOf is the status of an answer that is no success, 0 for other errors.
func statusOf(err error) int {
	var answer *apiError
	if errors.As(err, &answer) {
		return answer.Status
	}
	return 0
}
