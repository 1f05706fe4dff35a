package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"text/tabwriter"

	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
	"github.com/bunting-flags/bunting/flags"
)

// banner is what the start prints: where the server is, the projects, and a
// line to paste.
func (s *server) banner(ctx context.Context, address net.Addr) string {
	return s.headline(address) + "\n" + s.projectsText(ctx, address)
}

// announce is banner, of a server that serves now.
func (s *server) announce(ctx context.Context, address net.Addr) string {
	s.address.Store(&address)
	s.warnOfKeys()
	return s.banner(ctx, address)
}

func (s *server) headline(address net.Addr) string {
	return fmt.Sprintf("Bunting %s listens on %s://%s\n", cli.ReadBuild().Version, s.config.Scheme(), reachable(address))
}

func (s *server) projectsText(ctx context.Context, address net.Addr) string {
	url := s.config.Scheme() + "://" + reachable(address)
	var b strings.Builder
	projects, err := s.store.Projects(ctx)
	if err != nil {
		s.log.Error("the projects could not be read", "error", err)
	}
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "PROJECT\tID\tKEY\tFLAGS")
	flag := ""
	for i := range projects {
		_, set, err := s.decider.Project(ctx, projects[i].APIKey)
		if err != nil {
			continue // gone just now
		}
		_, _ = fmt.Fprintf(table, "%s\t%d\t%s\t%d\n", projects[i].Name, projects[i].ID, projects[i].APIKey, set.Len())
		if i == 0 {
			flag = s.someFlag(set)
		}
	}
	_ = table.Flush()
	if file := s.config.OwnerKeyFile; s.first.Load() && file != "" {
		fmt.Fprintf(&b, "\nThis is the first start. Your personal key is in %s\n", file)
	}
	if len(projects) > 0 {
		fmt.Fprintf(&b, "\nTry it:\n\n  %s\n\n", curl(url, projects[0].APIKey, flag))
	}
	return b.String()
}

// someFlag is a flag that every caller gets an answer for; empty when there is
// none.
func (s *server) someFlag(set *flags.Set) string {
	var out flags.Decisions
	set.Select(&flags.Subject{DistinctID: "user-1"}, s.decider.Now(), &flags.Selection{}, &out)
	if len(out.List) == 0 {
		return ""
	}
	return out.List[0].Key
}

// curl is a command that asks for a flag, or for all.
func curl(url, apiKey, flag string) string {
	body := struct {
		APIKey     string   `json:"api_key"`
		DistinctID string   `json:"distinct_id"`
		FlagKeys   []string `json:"flag_keys_to_evaluate,omitempty"`
	}{APIKey: apiKey, DistinctID: "user-1"}
	if flag != "" {
		body.FlagKeys = []string{flag}
	}
	text, _ := json.Marshal(body) // texts always have a JSON form
	return "curl -s " + quoteShell(url+"/flags?v=2") + " -H 'Content-Type: application/json' -d " + quoteShell(string(text))
}

func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// reachable is an address that a client on this machine can use: an unspecified
// one becomes the loopback address.
func reachable(address net.Addr) string {
	at, err := netip.ParseAddrPort(address.String())
	if err != nil || !at.Addr().IsUnspecified() {
		return address.String()
	}
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	return netip.AddrPortFrom(loopback, at.Port()).String()
}
