package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

const projectOption = `  --project ID      project: its number, name or public key, BUNTING_PROJECT in the
                    environment by default, else the only one that the key can access
`

// projectRef is the project of a command.
type projectRef struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"` // empty if the key may not read it
	Token string `json:"api_token"`
}

func (p *projectRef) String() string {
	if p.Name == "" {
		return strconv.FormatInt(p.ID, 10)
	}
	return fmt.Sprintf("%d (%s)", p.ID, cli.Cell(p.Name))
}

// findProject returns the project of a command: the one with the given number, name or public key,
// or the only project of the key if named is empty. The server's current project is used only for
// @current.
func (c *apiClient) findProject(ctx context.Context, named string) (*projectRef, error) {
	id, err := strconv.ParseInt(named, 10, 64)
	if named == "@current" || err == nil {
		var p projectRef
		err := c.send(ctx, "GET", projectPath(named), nil, &p)
		switch {
		case err == nil:
			return &p, nil
		case statusOf(err) == http.StatusForbidden && id > 0:
			return &projectRef{ID: id}, nil // the response to the request itself shows whether the key is allowed to do it
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
		return nil, errors.New("the key has no access to any project")
	case named == "":
		return nil, projectChoiceError("no project is given", list)
	case len(found) > 1:
		return nil, projectChoiceError(fmt.Sprintf("several projects have the name %q", named), found)
	}
	return nil, projectChoiceError(fmt.Sprintf("there is no project %q", named), list)
}

// maxChoice is the maximum number of projects that an error lists.
const maxChoice = 30

// projectChoiceError returns an error that lists projects to choose from.
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

// listProjects returns the projects that the key may use. A key that is restricted to projects may
// not read the list, but its own description contains their ids.
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
		return nil, cli.Usage("no project is given, and the key cannot list the projects", fmt.Sprintf("give it with --project or %s (%v)", cli.ProjectVariable, listErr))
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

// statusOf returns the status of an apiError, or 0 for other errors.
func statusOf(err error) int {
	var answer *apiError
	if errors.As(err, &answer) {
		return answer.Status
	}
	return 0
}
