"""The comparison methods. Each module has one method and registers it under the name of the module."""
