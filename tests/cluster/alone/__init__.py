"""Cases that disturb every pod of the test machine: they run when no others do."""
