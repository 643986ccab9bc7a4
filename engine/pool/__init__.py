"""Long-lived search processes and the asyncio front that the server talks to."""
