package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"eruptcloud/app/boot"
	"eruptcloud/app/fleet"
)

func newInitMenus(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "init-menus", Short: "Insert the menus and permission codes that are missing",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.withDomain(cmd.Context(), func(ctx context.Context, d *boot.Domain) error {
				added, err := d.Access.Menus.Seed(ctx)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d menus added\n", added)
				return err
			})
		},
	}
}

func newAdmin(s *settings) *cobra.Command {
	parent := &cobra.Command{Use: "admin", Short: "Manage administrators on the database"}
	var password string
	create := &cobra.Command{
		Use: "create ACCOUNT", Short: "Create an administrator, or give an existing one a new password and open the account",
		Long: "The password comes from --password-file (- for standard input); without it one is generated and printed.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			pw, err := readSecret(cmd.InOrStdin(), password)
			if err != nil {
				return err
			}
			return s.withDomain(cmd.Context(), func(ctx context.Context, d *boot.Domain) error {
				generated, err := d.EnsureAdmin(ctx, args[0], pw)
				if err != nil {
					return err
				}
				if generated != "" {
					fmt.Fprintf(cmd.OutOrStdout(), "password %s\n", generated)
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is an administrator\n", args[0])
				return err
			})
		},
	}
	create.Flags().StringVar(&password, "password-file", "", "file that holds the password, - for standard input")
	parent.AddCommand(create)
	return parent
}

func readSecret(in io.Reader, file string) (string, error) {
	var raw []byte
	var err error
	switch file {
	case "":
		return "", nil
	case "-":
		raw, err = io.ReadAll(io.LimitReader(in, 4096))
	default:
		raw, err = os.ReadFile(file)
	}
	if err != nil {
		return "", usageError{err}
	}
	secret := strings.TrimRight(string(raw), "\r\n")
	if secret == "" {
		return "", usageError{errors.New("the password is empty")}
	}
	return secret, nil
}

func newNode(s *settings) *cobra.Command {
	parent := &cobra.Command{Use: "node", Short: "Manage node records on the database"}
	var n fleet.NewNode
	var output string
	create := &cobra.Command{
		Use: "create NAME", Short: "Create a node's record and print its access token",
		Long: "Works on the database, also beside a running server, which knows the node at its first registration.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return usageError{fmt.Errorf("-o %s: want text or json", output)}
			}
			n.Name, n.Enabled, n.By = args[0], true, "command line"
			return s.withDomain(cmd.Context(), func(ctx context.Context, d *boot.Domain) error {
				node, token, err := d.Fleet.Nodes.Create(ctx, n)
				if err != nil {
					return err
				}
				return printNode(cmd.OutOrStdout(), output, node, token)
			})
		},
	}
	create.Flags().StringVar(&n.Group, "group", "", "code of the group")
	create.Flags().StringVar(&n.Display, "name", "", "name for people")
	create.Flags().StringVar(&n.Token, "token", "", "access token, 8 to 128 characters (default: 16, generated)")
	create.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	parent.AddCommand(create)
	return parent
}

func printNode(w io.Writer, output string, n fleet.Node, token string) error {
	if output == "json" {
		var group *string // null if none, as the API writes it
		if n.Group != "" {
			group = &n.Group
		}
		return json.NewEncoder(w).Encode(map[string]any{
			"nodeName": n.Name, "name": n.Display, "group": group, "enabled": n.Enabled, "accessToken": token,
		})
	}
	_, err := fmt.Fprintf(w, "node %s created, access token %s\n", n.Name, token)
	return err
}

func newHealth(s *settings) *cobra.Command {
	var url string
	c := &cobra.Command{
		Use: "health", Short: "Ask a running server whether it is ready",
		Long: "Exit code 0 if it is ready, 1 if not. The address is made from the configuration, or given with --url.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			target := url
			if target == "" {
				c, err := s.load(nil)
				if err != nil {
					return err
				}
				target = boot.LocalURL(c)
			}
			return health(cmd.Context(), cmd.OutOrStdout(), strings.TrimRight(target, "/")+"/readyz")
		},
	}
	c.Flags().StringVar(&url, "url", "", "address of the server, e.g. http://127.0.0.1:8080")
	return c
}

func health(ctx context.Context, w io.Writer, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return usageError{err}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return err
	}
	fmt.Fprintln(w, strings.TrimSpace(string(body)))
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", url, resp.Status)
	}
	return nil
}

// withDomain opens the database for one command.
func (s *settings) withDomain(ctx context.Context, do func(context.Context, *boot.Domain) error) error {
	c, err := s.load(nil)
	if err != nil {
		return err
	}
	d, err := boot.OpenDomain(ctx, c)
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, d), d.Close())
}
