"""What hadash sends to people and programs outside: every message is a row first, and is sent by a worker later."""
