package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// headline returns the line that names the program's version and the server's URL.
func (s *served) headline() string {
	return fmt.Sprintf("Bunting %s listens on %s\n", cli.ReadBuild().Version, s.url())
}

func (s *served) url() string { return s.scheme + "://" + reachable(s.address) }

// waitingBanner returns the banner for a start without the database.
func (s *served) waitingBanner() string {
	return fmt.Sprintf("%s\nThe database cannot be reached yet. Flags of %d projects are evaluated with their last valid definitions,\nand every other request is answered with 503, until it can be reached.\n",
		s.headline(), s.Copies())
}

// projects returns a table of the projects, followed by a curl command to paste.
func (s *served) projects(ctx context.Context) string {
	var b strings.Builder
	projects, err := s.Projects(ctx)
	if err != nil {
		s.log.Error("the projects could not be read", "error", err)
	}
	rows := [][]string{{"PROJECT", "ID", "KEY", "FLAGS"}}
	decider, flag := s.Decider(), ""
	for i := range projects {
		_, set, err := decider.Project(ctx, projects[i].APIKey)
		if err != nil {
			continue // deleted since the list was read
		}
		rows = append(rows, []string{projects[i].Name, strconv.FormatInt(projects[i].ID, 10), projects[i].APIKey, strconv.Itoa(set.Len())})
		if i == 0 {
			flag = someFlag(decider, set)
		}
	}
	b.WriteString(cli.Table(rows))
	if file := s.key.file; s.key.isNew.Load() && file != "" {
		fmt.Fprintf(&b, "\nThis is the first start. Your personal key is in %s\n", file)
	}
	if len(projects) > 0 {
		fmt.Fprintf(&b, "\nTry it:\n\n  %s\n\n", curl(s.url(), projects[0].APIKey, flag))
	}
	return b.String()
}

// prepareLink returns the line of a link to the console that is valid only after link was called.
func (s *served) prepareLink() string {
	if !s.signIn {
		return ""
	}
	token := make([]byte, 32)
	_, _ = rand.Read(token) // never fails
	s.printedToken = base64.RawURLEncoding.EncodeToString(token)
	return s.linkLine(s.printedToken)
}

// link returns a line with a link that signs the owner in. The link works a single time, within 30
// minutes. The line is empty if the owner has signed in before, unless renewLink is set, and if
// prepareLink has returned a link.
func (s *served) link(ctx context.Context) string {
	m := s.Management()
	if !s.signIn || m == nil || m.Organizations == nil {
		return ""
	}
	token, err := m.Organizations.Sessions.OwnerLink(ctx, s.owner, s.printedToken, s.renewLink || s.printedToken != "")
	if err != nil {
		s.log.Error("the sign-in link could not be created", "error", err)
	}
	if token == "" || token == s.printedToken {
		return ""
	}
	return s.linkLine(token)
}

func (s *served) linkLine(token string) string {
	return "Open the console: " + strings.TrimSuffix(cmp.Or(s.site, s.url()), "/") + "/console/sign-in#" + token + "\n\n"
}

// someFlag returns the key of a flag that is evaluated for every caller, or "" if there is no such
// flag.
func someFlag(d *serving.Decider, set *flags.Set) string {
	var out flags.Decisions
	set.Select(&flags.Subject{DistinctID: "user-1"}, d.Now(), &flags.Selection{}, &out)
	if len(out.List) == 0 {
		return ""
	}
	return out.List[0].Key
}

// curl returns a shell command that requests the value of flag, or of all flags if flag is empty.
func curl(url, apiKey, flag string) string {
	body := struct {
		APIKey     string   `json:"api_key"`
		DistinctID string   `json:"distinct_id"`
		FlagKeys   []string `json:"flag_keys_to_evaluate,omitempty"`
	}{APIKey: apiKey, DistinctID: "user-1"}
	if flag != "" {
		body.FlagKeys = []string{flag}
	}
	text, _ := json.Marshal(body) // strings can always be encoded as JSON
	return "curl -s " + quoteShell(url+"/flags?v=2") + " -H 'Content-Type: application/json' -d " + quoteShell(string(text))
}

func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// reachable returns an address that a client on this machine can use: an unspecified address is
// replaced by the loopback address.
func reachable(address net.Addr) string {
	addrPort, err := netip.ParseAddrPort(address.String())
	if err != nil || !addrPort.Addr().IsUnspecified() {
		return address.String()
	}
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	return netip.AddrPortFrom(loopback, addrPort.Port()).String()
}
