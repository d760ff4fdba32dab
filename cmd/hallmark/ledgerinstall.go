package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/ledger"
)

func ledgerInstallCommand(env *environment) *cobra.Command {
	var f ledgerFlags
	var script bool
	cmd := &cobra.Command{
		Use: "install", Short: "Make the ledger's tables",
		Long: ledgerInstallHelp, Example: ledgerInstallExample, Args: ledgerArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !script {
				return env.installLedger(cmd.Context(), &f)
			}
			if err := f.check(); err != nil {
				return err
			}
			_, err := io.WriteString(env.stdout, ledger.New(nil, f.schema).Script())
			return err
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&script, "print", false, "print the SQL and run nothing")
	return cmd
}

func (env *environment) installLedger(ctx context.Context, f *ledgerFlags) error {
	db, l, err := f.open(env)
	if err != nil {
		return err
	}
	defer db.Close()
	before, err := l.Version(ctx)
	if err != nil && ledger.KindOf(err) != ledger.NotInstalled {
		return installError(err)
	}
	if err := l.Install(ctx); err != nil {
		return installError(err)
	}
	version, err := l.Version(ctx)
	if err != nil {
		return installError(err)
	}
	already := ""
	if version == before {
		already = " already"
	}
	_, err = fmt.Fprintf(env.stdout, "ok: ledger version %d in schema %s%s\n", version, printable(f.schema), already)
	return err
}

func installError(err error) error {
	if ledger.KindOf(err) == ledger.Forbidden { // the rights of a run are not enough
		err = diag.WithHint(err, hintInstall)
	}
	return fmt.Errorf("installing the ledger: %w", err)
}
