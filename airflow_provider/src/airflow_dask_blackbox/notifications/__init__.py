"""Messages about failed tasks, for chats and e-mail."""
