CREATE INDEX ledger_by_turn ON ledger (turn, seq) WHERE turn IS NOT NULL;
